from .base import MObject
class ExactSegment(MObject):
    pass
