"""The elements; a new one is a file here and a line below.  Shapes to be drawn are in :mod:`.shapes`, imported when used."""

from .base import MObject as MObject
from .beam import Beam as Beam
from .beam import RoundBeam as RoundBeam
from .beam import SectionBeam as SectionBeam
from .bushing import Bushing as Bushing
from .flexible_body import FlexibleBody as FlexibleBody
from .gas_spring import GasSpring as GasSpring
from .gear import Gear as Gear
from .joints import Cylindrical as Cylindrical
from .joints import Fixed as Fixed
from .joints import Joint as Joint
from .joints import Planar as Planar
from .joints import PointOnLine as PointOnLine
from .joints import Prismatic as Prismatic
from .joints import Revolute as Revolute
from .joints import Spherical as Spherical
from .joints import Universal as Universal
from .load import Load as Load
from .rigid_body import RigidBody as RigidBody
from .rod import Rod as Rod
from .spring import Spring as Spring
from .transducers import ForceActuator as ForceActuator
from .transducers import ForceSensor as ForceSensor
from .transducers import PositionActuator as PositionActuator
from .transducers import PositionSensor as PositionSensor
from .wire import Wire as Wire
