"""The elements; a new one is a file here and a line below."""

from .base import MObject as MObject
from .beam import Beam as Beam
from .beam import RoundBeam as RoundBeam
from .beam import SectionBeam as SectionBeam
from .bushing import Bushing as Bushing
from .flexible_body import FlexibleBody as FlexibleBody
from .gear import Gear as Gear
from .joint import Cylindrical as Cylindrical
from .joint import Fixed as Fixed
from .joint import Joint as Joint
from .joint import Planar as Planar
from .joint import PointOnLine as PointOnLine
from .joint import Prismatic as Prismatic
from .joint import Revolute as Revolute
from .joint import Spherical as Spherical
from .joint import Universal as Universal
from .load import Load as Load
from .rigid_body import RigidBody as RigidBody
from .rod import Rod as Rod
from .spring import Spring as Spring
from .transducers import ForceActuator as ForceActuator
from .transducers import ForceSensor as ForceSensor
from .transducers import PositionActuator as PositionActuator
from .transducers import PositionSensor as PositionSensor
from .wire import Wire as Wire
