"""mse: mechanical systems of frames and constraints - working point, modes, transfer functions, time evolution.

    system = mse.MSystem("stage")                        what is modeled: objects are added, and clamped to each other
    point = system.find_working_point()                  poses, forces and stability at rest
    linear = point.linearize()                           small motions about it
    linear.modes(), .frequency_response(f), .simulate(duration=10.0, dt=1e-3), .state_space(), .step_loop(dt=1e-3)

help(mse.Beam) tells the parameters of an element with units, ranges and defaults; help(mse.MSystem), help(type(point)) and
help(mse.LinearModel) tell what can be done; every result prints itself as a table, and has plot().

System        MSystem, Pose, SearchOptions
Motors        Twist, Wrench, Momentum, SpatialInertia, Dyad
Bodies        RigidBody, FlexibleBody
Their shapes  Box, Cylinder, Sphere, Plate, Stl, Obj, Dae
Elastic       Spring, GasSpring, Wire, Rod, Bushing, TabulatedLink, Beam, RoundBeam, SectionBeam
Damping       EddyCurrentDamper
Circuits      Resistor, Capacitor, Inductor, Transformer, CoupledInductors, VoltageSource, CurrentSource, Amplifier, Gyrator
Fluids        FlowResistance, Inertance, Compliance, Accumulator, PressureSource, HydraulicCylinder
Heat          HeatCapacity, HeatConductor, TemperatureSource, Heater, ThermalSpring
Transducers   VoiceCoil, PlateCapacitor, PiezoStack
Joints        Fixed, Revolute, Prismatic, Cylindrical, Planar, Spherical, Universal, PointOnLine, Gear, Joint
Losses        LossTable, Zener, Thermoelastic, SurfaceLoss
Materials     Material, materials
Wheels        RollingDisc, RollingSphere
Loads         Load
Drives        ForceActuator, PositionActuator
Sensors       ForceSensor, PositionSensor
Own elements  MObject, coordinate, SymbolicElement
Linear        LinearModel, compose, reduce_model, reduce_matrices, track
Noise         Spectrum
Control       Controller
Files         read_model, read_result, read_recording, read_matrices, read_urdf
Long calls    show_progress, Progress, Interrupted
Errors        MseError, ModelError, ModelWarning, UnknownNameError, WorkingPointError, MotionError,
              SingularResponseError, ImproperModelError, ControllerError, FileError, RecordingError,
              MissingPackageError, OutOfMemoryError
"""

import typing as _typing

from .elements import Accumulator as Accumulator
from .elements import Amplifier as Amplifier
from .elements import Beam as Beam
from .elements import Bushing as Bushing
from .elements import Capacitor as Capacitor
from .elements import Compliance as Compliance
from .elements import CoupledInductors as CoupledInductors
from .elements import CurrentSource as CurrentSource
from .elements import Cylindrical as Cylindrical
from .elements import EddyCurrentDamper as EddyCurrentDamper
from .elements import Fixed as Fixed
from .elements import FlexibleBody as FlexibleBody
from .elements import FlowResistance as FlowResistance
from .elements import ForceActuator as ForceActuator
from .elements import ForceSensor as ForceSensor
from .elements import GasSpring as GasSpring
from .elements import Gear as Gear
from .elements import Gyrator as Gyrator
from .elements import HeatCapacity as HeatCapacity
from .elements import HeatConductor as HeatConductor
from .elements import Heater as Heater
from .elements import HydraulicCylinder as HydraulicCylinder
from .elements import Inductor as Inductor
from .elements import Inertance as Inertance
from .elements import Joint as Joint
from .elements import Load as Load
from .elements import MObject as MObject
from .elements import PiezoStack as PiezoStack
from .elements import Planar as Planar
from .elements import PlateCapacitor as PlateCapacitor
from .elements import PointOnLine as PointOnLine
from .elements import PositionActuator as PositionActuator
from .elements import PositionSensor as PositionSensor
from .elements import PressureSource as PressureSource
from .elements import Prismatic as Prismatic
from .elements import Resistor as Resistor
from .elements import Revolute as Revolute
from .elements import RigidBody as RigidBody
from .elements import Rod as Rod
from .elements import RollingDisc as RollingDisc
from .elements import RollingSphere as RollingSphere
from .elements import RoundBeam as RoundBeam
from .elements import SectionBeam as SectionBeam
from .elements import Spherical as Spherical
from .elements import Spring as Spring
from .elements import SymbolicElement as SymbolicElement
from .elements import TabulatedLink as TabulatedLink
from .elements import TemperatureSource as TemperatureSource
from .elements import ThermalSpring as ThermalSpring
from .elements import Transformer as Transformer
from .elements import Universal as Universal
from .elements import VoiceCoil as VoiceCoil
from .elements import VoltageSource as VoltageSource
from .elements import Wire as Wire
from .elements.coordinates import coordinate as coordinate
from .elements.shapes import Box as Box
from .elements.shapes import Cylinder as Cylinder
from .elements.shapes import Dae as Dae
from .elements.shapes import Obj as Obj
from .elements.shapes import Plate as Plate
from .elements.shapes import Sphere as Sphere
from .elements.shapes import Stl as Stl
from .errors import ControllerError as ControllerError
from .errors import FileError as FileError
from .errors import ImproperModelError as ImproperModelError
from .errors import Interrupted as Interrupted
from .errors import MissingPackageError as MissingPackageError
from .errors import ModelError as ModelError
from .errors import ModelWarning as ModelWarning
from .errors import MotionError as MotionError
from .errors import MseError as MseError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import RecordingError as RecordingError
from .errors import SingularResponseError as SingularResponseError
from .errors import UnknownNameError as UnknownNameError
from .errors import WorkingPointError as WorkingPointError
from .model.system import MSystem as MSystem
from .pose import Pose as Pose
from .progress.reports import Progress as Progress
from .progress.tasks import show_progress as show_progress
from .results import drawn_by as _drawn_by
from .spatial.dyad import Dyad as Dyad
from .spatial.inertia import SpatialInertia as SpatialInertia
from .spatial.motors import Momentum as Momentum
from .spatial.motors import Twist as Twist
from .spatial.motors import Wrench as Wrench
from .statics.options import SearchOptions as SearchOptions

__version__ = "0.1.0"

_drawn_by(f"{__name__}.tools.plots")

# Not every system needs these, nor what they take from SciPy; `import mse` stays quick without them.
_LATER = {
    "Controller": ".control.controller",
    "LinearModel": ".linear.linear_model",
    "LossTable": ".elements.loss_laws",
    "Material": ".elements.material",
    "Spectrum": ".analysis.noise.spectra",
    "SurfaceLoss": ".elements.section_losses",
    "Thermoelastic": ".elements.section_losses",
    "Zener": ".elements.loss_laws",
    "compose": ".linear.compose",
    "materials": ".elements.common_materials",
    "read_matrices": ".linear.matrix_files",
    "read_model": ".statics.files",
    "read_recording": ".analysis.time.recording",
    "read_result": ".tools.exchange.result_files",
    "read_urdf": ".tools.exchange.urdf",
    "reduce_matrices": ".linear.craig_bampton",
    "reduce_model": ".linear.craig_bampton",
    "track": ".analysis.modes.tracking",
}

# Results and their parts, which mse makes: names for annotations, not for dir(mse).
_RESULTS = {
    "Balanced": ".analysis.time.balanced",
    "BeamLoads": ".elements.beam_loads",
    "Clamp": ".model.system",
    "ClosedModel": ".control.closed",
    "Crossing": ".analysis.time.response",
    "Dependency": ".statics.joints",
    "DynamicMember": ".linear.linear_model",
    "Event": ".statics.continuation",
    "FrequencyResponse": ".analysis.frequency.response",
    "Instability": ".statics.critical_load",
    "Instant": ".dynamics.trajectory",
    "InterfaceFrame": ".linear.interface_frames",
    "Iteration": ".statics.history",
    "LeftOut": ".analysis.time.left_out",
    "LossLaw": ".elements.loss_laws",
    "Margins": ".control.margins",
    "Mode": ".analysis.modes.result",
    "Modes": ".analysis.modes.result",
    "Motion": ".statics.stability",
    "MotionState": ".dynamics.trajectory",
    "MotionLoop": ".dynamics.step_loop",
    "ModeTracks": ".analysis.modes.tracking",
    "NoiseBudget": ".analysis.noise.budget",
    "NullSpace": ".linear.independent",
    "Reduction": ".linear.craig_bampton",
    "Relaxation": ".statics.relaxation",
    "ResonanceGrid": ".analysis.frequency.resonance_grid",
    "StateSpace": ".analysis.time.state_space",
    "SteadyMotion": ".dynamics.steady_motion",
    "SteadyTrace": ".dynamics.steady_motion",
    "StepLoop": ".analysis.time.step_loop",
    "Steps": ".statics.history",
    "StiffnessParts": ".linear.stiffness_parts",
    "StrainEnergies": ".analysis.modes.strain_energies",
    "SymbolicEquations": ".tools.equations",
    "TimeResponse": ".analysis.time.response",
    "Trace": ".statics.continuation",
    "TransitionMatrix": ".dynamics.transition",
    "Trajectory": ".dynamics.trajectory",
    "WorkingPoint": ".statics.working_point",
}

if _typing.TYPE_CHECKING:
    from .analysis.frequency.resonance_grid import ResonanceGrid as ResonanceGrid
    from .analysis.frequency.response import FrequencyResponse as FrequencyResponse
    from .analysis.modes.result import Mode as Mode
    from .analysis.modes.result import Modes as Modes
    from .analysis.modes.strain_energies import StrainEnergies as StrainEnergies
    from .analysis.modes.tracking import ModeTracks as ModeTracks
    from .analysis.modes.tracking import track as track
    from .analysis.noise.budget import NoiseBudget as NoiseBudget
    from .analysis.noise.spectra import Spectrum as Spectrum
    from .analysis.time.balanced import Balanced as Balanced
    from .analysis.time.left_out import LeftOut as LeftOut
    from .analysis.time.recording import read_recording as read_recording
    from .analysis.time.response import Crossing as Crossing
    from .analysis.time.response import TimeResponse as TimeResponse
    from .analysis.time.state_space import StateSpace as StateSpace
    from .analysis.time.step_loop import StepLoop as StepLoop
    from .control.closed import ClosedModel as ClosedModel
    from .control.controller import Controller as Controller
    from .control.margins import Margins as Margins
    from .dynamics.steady_motion import SteadyMotion as SteadyMotion
    from .dynamics.steady_motion import SteadyTrace as SteadyTrace
    from .dynamics.step_loop import MotionLoop as MotionLoop
    from .dynamics.trajectory import Instant as Instant
    from .dynamics.trajectory import MotionState as MotionState
    from .dynamics.trajectory import Trajectory as Trajectory
    from .dynamics.transition import TransitionMatrix as TransitionMatrix
    from .elements.beam_loads import BeamLoads as BeamLoads
    from .elements.common_materials import materials as materials
    from .elements.loss_laws import LossLaw as LossLaw
    from .elements.loss_laws import LossTable as LossTable
    from .elements.loss_laws import Zener as Zener
    from .elements.material import Material as Material
    from .elements.section_losses import SurfaceLoss as SurfaceLoss
    from .elements.section_losses import Thermoelastic as Thermoelastic
    from .linear.compose import compose as compose
    from .linear.craig_bampton import Reduction as Reduction
    from .linear.craig_bampton import reduce_matrices as reduce_matrices
    from .linear.craig_bampton import reduce_model as reduce_model
    from .linear.independent import NullSpace as NullSpace
    from .linear.interface_frames import InterfaceFrame as InterfaceFrame
    from .linear.linear_model import DynamicMember as DynamicMember
    from .linear.linear_model import LinearModel as LinearModel
    from .linear.matrix_files import read_matrices as read_matrices
    from .linear.stiffness_parts import StiffnessParts as StiffnessParts
    from .model.system import Clamp as Clamp
    from .statics.continuation import Event as Event
    from .statics.continuation import Trace as Trace
    from .statics.critical_load import Instability as Instability
    from .statics.files import read_model as read_model
    from .statics.history import Iteration as Iteration
    from .statics.history import Steps as Steps
    from .statics.joints import Dependency as Dependency
    from .statics.relaxation import Relaxation as Relaxation
    from .statics.stability import Motion as Motion
    from .statics.working_point import WorkingPoint as WorkingPoint
    from .tools.equations import SymbolicEquations as SymbolicEquations
    from .tools.exchange.result_files import read_result as read_result
    from .tools.exchange.urdf import read_urdf as read_urdf
else:  # checkers would take any name for one of mse's

    def __getattr__(name: str):
        where = _LATER.get(name) or _RESULTS.get(name)
        if where is None:
            from .deprecation import RENAMED, warn_renamed

            if name in RENAMED:
                new, ends = RENAMED[name]
                warn_renamed(f"mse.{name}", f"mse.{new}", ends)
                return globals().get(new) or __getattr__(new)
            from .elsewhere import refuse

            refuse("mse", ("mse",), name)
            raise AttributeError(f"module 'mse' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(where, __name__), name)

    def __dir__() -> list[str]:
        return sorted([*globals(), *_LATER])
