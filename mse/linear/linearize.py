"""From a working point to a linear model: the energy to second order, with rigid links eliminated exactly.

Elements are evaluated by class; :class:`LinearPattern` knows where their matrices go.  :class:`LinkTree` describes the parts
that are carried by links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from ..elements import laws, velocity_laws
from ..elements.ports import port_rates
from ..elements.records import FIELD, GEOMETRIC
from ..errors import ModelError, WorkingPointError
from ..kernels.assembling import shift_to_reference
from ..kernels.rotations import cross_matrix
from ..model.evaluation import Evaluation
from ..model.flattening import Kind
from ..model.flow_constraints import FlowConstraints, flow_constraints
from ..model.parameter_record import ParameterRecord
from ..model.sensors import reading_slopes
from ..model.topology import Element, Topology
from ..numerics.blas_threads import one_thread
from ..progress.tasks import shown_as
from ..results import Result
from ..statics.working_point import WorkingPoint
from ..validation.arguments import names as name_list
from ..validation.arguments import refusal
from .channels import Channels, added_up, entries
from .element_parts import ElementParts, Elements, ObjectParts, Turning
from .frames import Frames
from .joint_constraints import JointRows
from .linear_model import DynamicMember, LinearModel
from .losses import of_elements
from .members import member_of
from .part_within import part_within
from .pattern import LinearPattern, LinearSum, linear_pattern
from .skew_parts import CIRCULATORY, DAMPING, GYROSCOPIC, SkewParts, split
from .stiffness_parts import ListedParts, StiffnessParts

# Least ratio of a node's mass to the heaviest body: at 1e-36 the modes of what a strip carries keep all digits, at 1e-41 three
# (tests/elements/test_beam_refusals.py::test_hardly_any_mass_is_none).
_NO_DIGIT = np.finfo(float).eps ** 2


@one_thread
@shown_as("linearizing")
def linearize(wp: WorkingPoint, *, within: Sequence[str] | str | None, anywhere: bool) -> LinearModel:
    """The linear model of a working point, or of some of its objects; see :meth:`WorkingPoint.linearize`."""
    if not wp.converged and not anywhere:
        raise WorkingPointError(
            f"{wp.name}: not at a working point ({wp.reason}); expected an equilibrium to linearize about; with "
            "linearize(anywhere=True) the model keeps a constant force", wp,
        )  # fmt: skip
    t = wp._topology
    chosen = _chosen(wp, within)
    expansion = Expansion(wp, chosen)
    pattern = expansion.pattern
    joints = JointRows(wp, expansion.clusters, expansion.constraints, expansion.flows, pattern, chosen)
    width = pattern.size + len(joints.names)
    mass, dampings, gyroscopic = expansion.matrices(width)
    _refuse_lost_nodes(t, mass)
    affine = expansion.slope if within is not None or not wp.converged else None
    if affine is not None:
        affine = -(affine if expansion.z is None else expansion.z.T @ affine)[: t.size]
    model = expansion.model(joints, mass, dampings, expansion.skew(width, gyroscopic), affine)
    return model if within is None else part_within(wp, model, chosen, within)


def _refuse_lost_nodes(t: Topology, mass: sp.spmatrix) -> None:
    """Refuse beam nodes so much lighter than the heaviest body that rounding of their modes hides the bodies' modes."""
    nodes = np.array(sorted(t.inner_units()), dtype=np.int64) - 1
    if not len(nodes):
        return
    masses = mass.diagonal()[: 6 * (t.units - 1)].reshape(-1, 6)[:, :3].max(axis=1)
    own, most = np.where(masses[nodes] > 0.0, masses[nodes], np.inf), float(masses.max())
    least = int(nodes[np.argmin(own)])
    if own.min() < _NO_DIGIT * most:
        raise ModelError(
            f"{t.coordinate_owners[6 * least]}: one of its nodes has a mass of {own.min():.3g} kg, compared with {most:.3g} kg "
            f"of {t.unit_names[1 + int(np.argmax(masses))]}; expected 0 for a massless beam, or at least {_NO_DIGIT:.2g} of the "
            "heaviest mass, since the frequencies of lighter nodes hide those of the bodies by rounding; correct its density or "
            "section, or choose form='exact'"
        )


def _chosen(wp: WorkingPoint, within: Sequence[str] | None):
    """Which elements the linear model is made of, None for all; UnknownNameError if no object has a given name."""
    if within is None:
        return None
    names = name_list(wp.name, "within", within)
    if not names:
        raise refusal(wp.name, "within", within, "at least one object or subsystem", remedy="None takes all of them")
    for name in names:
        if not name:
            raise refusal(wp.name, "within", within, "names of objects or subsystems", remedy="None takes all of them")
        wp._topology.source[name]  # refuses unknown names, with the nearest one
    prefixes = tuple(name + "." for name in names)
    return lambda el: el.owner in names or (el.owner + ".").startswith(prefixes)


_DAMPING = ("damping_matrix", "dissipation", "power", "kinetic")  # laws of own elements


class Expansion:
    """The elements of a working point to second order, about the reference points of their units.

    ``levers`` (frames, 3) point from the units' reference points to the frames, ``twists`` (links, 6, 6) are the twists of
    :class:`LinkTree`.  ``inertia`` (clusters' coordinates) are forces of inertia, of working points none; links carry them, too.
    """

    __getstate__ = Result.__getstate__

    def __init__(self, wp: WorkingPoint, chosen: Callable[[Element], bool] | None):
        t = wp._topology
        self.wp, self.chosen = wp, chosen
        self.pattern: LinearPattern = linear_pattern(wp._assembly)
        self.clusters = self.pattern.clusters(wp._assembly)
        self.here = Evaluation(self.clusters, wp.state, (1.0, wp.load_factor, 1.0), frames=wp.frame_poses)
        self.at = at = self.here.configuration
        self.levers = at.o - wp.state.o[t.unit]
        self.twists = self.pattern.links.twists(self.levers, at.U)
        self.arms = self.pattern.links.arms(self.twists)
        self.notes: list[str] = []
        self.inertia = 0.0
        self.left_out = [self._not_chosen(kind) for kind in self.pattern.kinds]
        self.without_energy = {k for k in self.pattern.maybe_without_energy if t.elements[k].obj.without_energy}
        # whether the search has sorted the motions of this K: it takes K as symmetric, and may soften it if it is cut short
        self.as_searched = chosen is None and wp.converged and not self.without_energy

    @cached_property
    def evaluated(self) -> tuple[list[np.ndarray], list[np.ndarray], dict[int, np.ndarray]]:
        """Gradients (E, n) and symmetric stiffness parts (E, p, n, n) by group; skew parts (E, n, n) of groups that have any.

        The stiffness of elements that are not chosen is zero.
        """
        gradients, stiffness, circulatory = [], [], {}
        for g, left_out in zip(self.clusters.groups, self.left_out, strict=False):
            _, gradient, k = self.clusters.evaluate(g, self.at, 2, self.wp.load_factor)
            if left_out is not None:
                k[left_out] = 0.0
            if not self.without_energy.isdisjoint(g.members):
                # evaluate the power's part alone: rounding of a stiff energy would hide it
                lone = g.cls.defines("power") and not g.without_energy.any()
                skew = laws.skew_parts(k[:, 0].copy() if lone else k.sum(axis=1))
                if skew is not None:
                    k[:] = 0.5 * (k + k.transpose(0, 1, 3, 2))
                    circulatory[g.number] = skew
            gradients.append(gradient)
            stiffness.append(k)
        return gradients, stiffness, circulatory

    def _not_chosen(self, kind: Kind) -> np.ndarray | None:
        if self.chosen is None:
            return None
        return np.array([not self.chosen(self.wp._topology.elements[k]) for k in kind.members])

    @cached_property
    def z(self) -> sp.csr_matrix | None:
        """Z with ``x_clusters = Z (q, w)``; None if it is the identity."""
        return self.pattern.links.transformation(self.twists) if self.wp._topology.links else None

    def constraints(self) -> tuple[np.ndarray, sp.csr_matrix]:
        """Residuals (m,) of all constraints and their slopes (m, n + links)."""
        residual, slopes = self.here.residual, self.here.slopes
        return residual, slopes if self.z is None else (slopes @ self.z).tocsr()

    @property
    def flows(self) -> FlowConstraints:
        """Rows of the chosen elements' flow constraints, on the velocities of all coordinates."""
        found = flow_constraints(self.clusters, self.at, self.chosen)
        if not found.slopes.shape[0] or self.z is None:
            return found
        return found._replace(slopes=(found.slopes @ self.z).tocsr())

    def _slope(self, left_out: Sequence[np.ndarray | None]) -> np.ndarray:
        """Sum of energy slopes and reactions on the clusters' coordinates; ``left_out`` marks elements of each group to skip."""
        a = self.clusters
        total = np.zeros(a.size)
        multipliers = self.wp.multipliers.copy()
        for k, (rows, gradient) in enumerate(zip(a.rows, self.evaluated[0], strict=True)):
            on = rows >= 0
            if left_out[k] is not None:
                on = on & ~left_out[k][:, None]
                if a.groups[k].constraint_count:
                    multipliers[a.constraint_rows(a.groups[k])[left_out[k]]] = 0.0
            total += np.bincount(rows[on], gradient[on], a.size)
        return total + self.here.slopes.T @ multipliers if a.constraint_count else total

    @property
    def slope(self) -> np.ndarray:
        """Sum of the chosen elements' energy slopes and reactions on the clusters' coordinates."""
        return self._slope(self.left_out)

    # -- matrices ---------------------------------------------------------------------------------------------
    def parts(self, width: int) -> ElementParts:
        """K as named parts on ``width`` coordinates."""
        # without links the search has computed this sum already; computing it again takes as long as the rest of linearize()
        known = self.wp.stiffness if self.as_searched and not self.wp._topology.links else None
        return ElementParts(width, self.pattern, self.arms, self._elements, self._turning(), known)

    def _elements(self) -> Elements:
        reactions = self.clusters.reaction_stiffness(self.at, self.wp.multipliers)
        for number, stiffness in reactions.items():
            if self.left_out[number] is not None:
                stiffness[self.left_out[number]] = 0.0
        return self.evaluated[1], reactions

    def _turning(self) -> Turning:
        """Loads that turn with the carriers of their links."""
        links = self.pattern.links
        if not links.turning:
            return Turning(np.zeros((0, 6, 6)), np.zeros(0, dtype=int), ())
        pull = np.zeros(6 * self.clusters.bodies)
        pull[6:] = (self._slope([None] * len(self.clusters.groups)) + self.inertia)[: len(pull) - 6]
        blocks, load_of, loads = [], [], []
        for (k, _), block in zip(links.turning, links.turning_blocks(self.twists, pull.reshape(-1, 6)), strict=True):
            el = self.wp._topology.elements[self.wp._topology.links[k].element]
            here = self.chosen is None or self.chosen(el)
            blocks.append(block if here else 0.0 * block)
            load_of.append(np.full(len(block), len(loads) if here else 0))
            if here:
                loads.append((el.path, GEOMETRIC))
        return Turning(np.concatenate(blocks), np.concatenate(load_of), tuple(loads))

    def skew(self, width: int, gyroscopic: dict[int, np.ndarray]) -> SkewParts | None:
        """Skew parts of the damping (E, n, n by kind) and of the stiffness; None if there are none."""
        circulatory = self.evaluated[2] if self.without_energy else {}
        if not gyroscopic and not circulatory:
            return None
        velocity, displacement = (
            self._by_object(width, [(k, mechanism, skew) for k, skew in by_kind.items()], "skew matrix")
            for mechanism, by_kind in ((GYROSCOPIC, gyroscopic), (CIRCULATORY, circulatory))
        )
        # the first parts sum by rows, which assumes symmetric matrices
        velocity, displacement = (ListedParts(p.labels, width, p.entries()) for p in (velocity, displacement))
        # skew parts of elements are exact; any symmetric part is rounding of the lever arms, even if nothing else is left
        return SkewParts(split(velocity.total())[1], displacement, self._fluctuations(width))

    def _fluctuations(self, width: int) -> ObjectParts | None:
        """Thermal noise of forces of elements that say it themselves."""
        found = []
        for number, kind in enumerate(self.pattern.kinds):
            if kind.cls.defines("fluctuation_matrix"):
                objects = [self.wp._topology.elements[k].obj for k in kind.members]
                places = [
                    (self.at.frames(f), self.at.q[i], self.clusters.flows[i])
                    for f, i in zip(kind.frames, kind.internal, strict=True)
                ]
                own = laws.matrices(objects, "fluctuation_matrix", places, 6 * kind.count + kind.coordinates)
                if own is not None:
                    if self.left_out[number] is not None:
                        own[self.left_out[number]] = 0.0
                    found.append((number, DAMPING, own))
        return self._by_object(width, found, "noise") if found else None

    def _by_object(self, width: int, matrices: list[tuple[int, str, np.ndarray]], quantity: str) -> ObjectParts:
        """Matrices (E, n, n) of some kinds, each with its mechanism, as parts by object."""
        elements = self.wp._topology.elements
        owners = {k: [elements[e].owner for e in self.pattern.kinds[k].members] for k, _, _ in matrices}
        return ObjectParts(width, self.pattern, self.arms, owners, matrices, quantity)

    def matrices(self, width: int) -> tuple[sp.csr_matrix, ObjectParts, dict[int, np.ndarray]]:
        """Symmetric mass and damping on ``width`` coordinates, and the skew parts of damping (E, n, n) by kind."""
        masses, dampings, gyroscopic = LinearSum(self.pattern, self.arms), [], {}
        for kernel, law in (("mass_kernel", "mass_matrix"), ("damping_kernel", "damping_matrix")):
            self._negative = ""
            for number, kind in enumerate(self.pattern.kinds):
                if not (kind.cls.has_mass() if law == "mass_matrix" else kind.cls.has_damping()):
                    continue
                for name, m in self._of_elements(number, getattr(kind.cls, kernel), law):
                    if self.left_out[number] is not None:
                        m[self.left_out[number]] = 0.0
                    m, levers = m[:, None], self.levers[kind.frames]
                    if levers.any():
                        shift_to_reference(levers, 2, np.zeros(m.shape[::3]), m)
                    # judge each element by itself: a weak coupling must not pass for rounding of another's strong damping
                    if name in _DAMPING and (skew := laws.skew_parts(m[:, 0])) is not None:
                        gyroscopic[number] = gyroscopic.get(number, 0.0) + skew
                    if law == "mass_matrix":
                        masses.add((number,), m)
                    elif m.any():
                        dampings.append((number, FIELD if name == "power" else DAMPING, m[:, 0]))
            if law == "mass_matrix":
                mass = masses.by_rows(width)
                n = self.wp._topology.size
                whole = mass[:n, :n] if self._negative else None  # what is prescribed takes its energy from a drive
            else:
                damping = self._by_object(width, dampings, "damping")
                whole = damping.total() if self._negative else None
            if self._negative and self.chosen is None:  # with chosen elements only, others may make up for it
                laws.refuse_negative(self._negative, law, whole)
        return mass, damping, gyroscopic

    def _of_elements(self, number: int, kernel: Callable | None, law: str) -> list[tuple[str, np.ndarray]]:
        """Masses or dampings (E, n, n) of a kind's elements at the working point, and the name of the law behind each."""
        kind, found = self.pattern.kinds[number], []
        powered = law == "damping_matrix" and kind.cls.defines("power")
        if kernel is not None:
            memory = self.at.memory[number]
            given = kernel(self.clusters.groups[number].parameters, kind.frames, self.at.o, self.at.U, memory)
            found += [] if given is None else [("", given)]
            if not powered:
                return found
        objects = [self.wp._topology.elements[k].obj for k in kind.members]
        if law == "mass_matrix" and kind.cls.moving is not None:
            return [("", kind.cls.moving(objects).masses(self.at.o[kind.frames], self.at.U[kind.frames]))]
        places = [(self.at.frames(f), self.at.q[i]) for f, i in zip(kind.frames, kind.internal, strict=True)]
        own, flows = [], self._flows(kind)
        if kernel is None:
            if velocities := velocity_laws.of(kind.cls, law):
                own.append((velocities, velocity_laws.matrices(objects, velocities, places, self.notes, flows)))
            elif (m := laws.matrices(objects, law, places, 6 * kind.count + kind.coordinates)) is not None:
                own.append((law, m))
        if law == "damping_matrix" and kind.cls.defines("kinetic"):
            coupled = velocity_laws.couplings(objects, places, flows)
            found += [] if coupled is None else [("kinetic", coupled)]
        for name, m in own:
            self._negative = self._negative or laws.negative_matrix(objects, name, m)
        if powered:  # powers may feed energy into motions, as a controller or a flow does
            own.append(("power", velocity_laws.damping_of_power(objects, places, self.notes, flows)))
        return found + own

    def _flows(self, kind: Kind) -> np.ndarray | None:
        """Velocities (E, n) of elements of a kind in steady flows; None if nothing flows there."""
        rates = self.clusters.flows[kind.internal]
        return np.hstack([np.zeros((len(rates), 6 * kind.count)), rates]) if rates.any() else None

    # -- the model --------------------------------------------------------------------------------------------
    def model(
        self,
        joints: JointRows,
        mass: sp.csr_matrix,
        dampings: StiffnessParts,
        skew: SkewParts | None,
        affine: np.ndarray | None,
    ) -> LinearModel:
        """All of it with mass, damping and skew parts on all coordinates."""
        wp, t = self.wp, self.wp._topology
        width = self.pattern.size + len(joints.names)
        inputs, outputs, members = self.channels(joints, width)
        force, drive, drive_rate = inputs.by_column(t.size)
        measure, reaction = outputs.by_row(t.size)
        rate = outputs.by_rate()
        return LinearModel(
            name=wp.name,
            coordinates=t.coordinate_names,
            owners=t.coordinate_owners,
            bodies=t.coordinate_bodies,
            scale=wp.scale,
            full_mass=mass,
            dampings=dampings,
            parts=self.parts(width),
            skew=skew,
            prescribed=self.pattern.links.names + joints.names,
            inputs=tuple(inputs.names),
            outputs=tuple(outputs.names),
            input_units=tuple(inputs.units),
            output_units=tuple(outputs.units),
            force=force,
            drive=drive,
            drive_rate=drive_rate,
            measure=measure,
            rate=rate,
            reaction=reaction,
            members=tuple(members),
            affine=affine,
            constraints=joints.constraints,
            determined=joints.determined,
            sharing=joints.sharing,
            self_stress=joints.self_stress,
            # a body's coordinates begin at this number, which is negative on the ground
            interfaces=Frames(lambda: t.frame_labels, 6 * (t.unit - 1), self.levers, self.at.U),
            _noise=wp.rounding * wp.scale**2 if wp.converged else None,
            losses=of_elements(wp, self.chosen),
            parameters=ParameterRecord(t.source),
            _factors=wp._assembly.factors,
            notes=tuple(dict.fromkeys(self.notes)),
            _known_curvatures=wp._sorted.curvatures if self.as_searched else None,
        )

    # -- inputs and outputs -----------------------------------------------------------------------------------
    def channels(self, joints: JointRows, width: int) -> tuple[Channels, Channels, list[DynamicMember]]:
        """Inputs and outputs of all elements, and the members that have a dynamic stiffness."""
        wp = self.wp
        inputs, outputs, members = Channels(width), Channels(width), []
        readings = reading_slopes(wp._topology, self.at, self.chosen, self.notes)
        for k in self.pattern.with_channels:
            el = wp._topology.elements[k]
            obj = el.obj
            if self.chosen is not None and not self.chosen(el):
                continue
            into, out_of, flows = obj.inputs, obj.outputs, port_rates(obj)
            if not (into or out_of or flows or el.path in joints.multipliers_of or obj.defines("dynamic_stiffness")):
                continue
            frames = self.at.frames(el.frames)
            if obj.defines("dynamic_stiffness"):
                members.append(member_of(el, frames, self._motion(el, width), partial(self._static, k)))
            if obj.role != "free":
                numbers = self.pattern.links.first[el.path] + np.arange(6)
                if into:
                    inputs.hold(el, into, numbers)
                if out_of:
                    outputs.hold(el, out_of, numbers)
                continue
            if el.path in joints.multipliers_of:
                numbers = width - len(joints.names) + joints.multipliers_of[el.path]
                motors, reactions = obj.motors, obj.reaction_outputs
                inputs.hold(el, tuple(motors), numbers[list(motors.values())])
                if rates := obj.rate_motors:
                    inputs.hold_rates(el, tuple(rates), numbers[list(rates.values())])
                if reactions:
                    given = np.zeros(len(numbers))  # flow constraints carry no load at rest
                    held = joints.all_numbers.get(el.path, numbers[:0])
                    given[: len(held)] = wp.multipliers[held]
                    read = laws.reactions(obj, frames)
                    turning = np.zeros((len(reactions), el.size))
                    if given.any():
                        turning = obj.reaction_slopes(frames, wp.state.q[el.coordinates], given)
                    outputs.weigh(el, reactions, read, numbers, *self._on_coordinates(el, turning))
            if into:
                pushed = laws.coupling(obj, "input_map", frames, (el.size, len(into)))
                inputs.map(el, into, *self._on_coordinates(el, pushed.T))
            if out_of:
                rows = readings.get(el.path)
                if rows is None:
                    rows = laws.coupling(obj, "output_map", frames, (len(out_of), el.size))
                outputs.map(el, out_of, *self._on_coordinates(el, rows))
            if flows:
                numbers = 6 * (wp._topology.units - 1) + el.internal[list(flows.values())]
                outputs.map_rates(el, tuple(flows), numbers)
        return inputs, outputs, members

    def _motion(self, el: Element, width: int) -> sp.csr_matrix:
        """Motion of an element's own coordinates by x."""
        return added_up([entries(*self._on_coordinates(el, np.eye(el.size)))], (el.size, width))

    def _static(self, number: int) -> np.ndarray:
        """Static stiffness (n, n) of one element."""
        size = self.wp._topology.elements[number].size
        groups = zip(self.clusters.groups, self.evaluated[1], strict=True)
        found = [k[g.members.index(number)].sum(axis=0) for g, k in groups if number in g.members]
        return sum(found, start=np.zeros((size, size)))

    def _on_coordinates(self, el: Element, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (m, 6 F + q) over an element's own coordinates as rows (m, c) over some of x, and the numbers of these (c,)."""
        t, links = self.wp._topology, self.pattern.links
        values, columns = [np.zeros((len(rows), 0))], [np.zeros(0, dtype=int)]
        for k, f in enumerate(el.frames):
            block = rows[:, 6 * k : 6 * k + 6].astype(float)
            block[:, 3:] -= block[:, :3] @ cross_matrix(self.levers[f])
            unit = t.unit[f]
            if unit:
                values.append(block)
                columns.append(6 * (unit - 1) + np.arange(6))
            for j in links.upstream.get(int(t.cluster[f]), ()):
                values.append(block @ self.twists[j])
                columns.append(t.size + 6 * j + np.arange(6))
        values.append(rows[:, 6 * len(el.frames) :])
        columns.append(6 * (t.units - 1) + el.internal)
        return np.hstack(values), np.concatenate(columns)
