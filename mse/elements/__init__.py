"""The elements; a new one is a file here and a line below."""

from .base import MObject as MObject
from .bushing import Bushing as Bushing
from .rigid_body import RigidBody as RigidBody
from .spring import Spring as Spring
from .transducers import ForceActuator as ForceActuator
from .transducers import ForceSensor as ForceSensor
from .transducers import PositionActuator as PositionActuator
from .transducers import PositionSensor as PositionSensor
from .wire import Wire as Wire
