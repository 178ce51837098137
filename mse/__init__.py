"""mse: mechanical systems of frames and constraints - working point, modes, transfer functions, time evolution."""

from .elements import Bushing as Bushing
from .elements import ForceActuator as ForceActuator
from .elements import ForceSensor as ForceSensor
from .elements import MObject as MObject
from .elements import PositionActuator as PositionActuator
from .elements import PositionSensor as PositionSensor
from .elements import RigidBody as RigidBody
from .elements import Spring as Spring
from .elements import Wire as Wire
from .model.system import MSystem as MSystem
from .pose import Pose as Pose
