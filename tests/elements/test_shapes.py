"""Shapes of bodies: volume, mass and inertia against closed forms, STL files good and bad, and how they are kept."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.base import FramePose
from mse.elements.shape_base import Shape
from mse.numerics import triangulations

TURN = Pose.dxdydz(0.3, -0.2, 0.7) @ Pose.rotation((0.4, -0.9, 0.2))
EVERY = [
    mse.Box((0.3, 0.2, 0.1)),
    mse.Cylinder(0.1, 0.4),
    mse.Cylinder(0.1, 0.4, inner_radius=0.06, at=TURN),
    mse.Sphere(0.2, at=TURN),
    mse.Plate([(0, 0), (1, 0), (1, 1), (0.5, 0.2), (0, 1)], 0.1, at=TURN),
]
# a tetrahedron with three edges a, b, c along x, y, z from the corner at the origin
A, B, C = 0.5, 0.7, 1.1
TETRAHEDRON = np.array([[0, 0, 0], [A, 0, 0], [0, B, 0], [0, 0, C]])
FACETS = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def binary(corners: np.ndarray, head: bytes = b"") -> bytes:
    record = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    record["corners"] = corners
    return head.ljust(80, b" ") + struct.pack("<I", len(corners)) + record.tobytes()


def text(corners: np.ndarray) -> str:
    out = ["solid a part"]
    for facet in corners:
        out += ["  facet normal 0 0 1", "    OUTER LOOP"]
        out += [f"      vertex {x!r} {y!r} {z!r}" for x, y, z in facet.tolist()]
        out += ["    endloop", "  endfacet"]
    return "\n".join([*out, "endsolid a part", ""])


@pytest.fixture
def part(tmp_path):
    """Writes an STL file and reads it."""

    def read(content: bytes | str, **options) -> mse.Stl:
        path = tmp_path / "part.stl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return mse.Stl(path, **options)

    return read


def known(mass: float, *squares: float) -> np.ndarray:
    """Inertia of what has the second moments ``mass * squares`` about its center along its axes."""
    x, y, z = mass * np.array(squares)
    return np.diag([y + z, x + z, x + y])


# -- volumes and moments ------------------------------------------------------------------------------------------------
def test_boxes_cylinders_and_spheres_have_the_inertia_of_textbooks():
    mass, center, inertia = mse.Box((0.3, 0.2, 0.1)).mass_properties(1000.0)
    assert mass == pytest.approx(6.0, rel=1e-15)
    np.testing.assert_array_equal(center, 0.0)
    np.testing.assert_allclose(inertia, known(6.0, 0.09 / 12, 0.04 / 12, 0.01 / 12), rtol=1e-15)
    mass, _, inertia = mse.Cylinder(0.2, 0.6, inner_radius=0.1).mass_properties(1000.0)
    assert mass == pytest.approx(1000 * np.pi * 0.03 * 0.6, rel=1e-14)
    np.testing.assert_allclose(inertia, known(mass, 0.05 / 4, 0.05 / 4, 0.36 / 12), rtol=1e-14)
    mass, _, inertia = mse.Sphere(0.2).mass_properties(1000.0)
    np.testing.assert_allclose(inertia, 0.4 * mass * 0.04 * np.eye(3), rtol=1e-14)


def test_a_tetrahedron_of_triangles_is_exact(part):
    shape = part(text(TETRAHEDRON[FACETS]))
    mass, center, inertia = shape.mass_properties(6.0)
    assert mass == pytest.approx(A * B * C, rel=1e-14)
    np.testing.assert_allclose(center, [A / 4, B / 4, C / 4], rtol=1e-14)
    # integral of x x^T about the corner: volume / 10 of a^2, volume / 20 of a b
    sides = np.array([A, B, C])
    second = mass * (np.outer(sides, sides) + np.diag(sides**2)) / 20.0 - mass * np.outer(center, center)
    np.testing.assert_allclose(inertia, np.trace(second) * np.eye(3) - second, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shape", EVERY, ids=lambda s: type(s).__name__)
def test_surfaces_are_closed_outward_and_hold_the_volume(shape):
    vertices, triangles, edges = shape.mesh
    assert triangulations.open_edges(triangles) == 0
    found = triangulations.enclosed(vertices, triangles)
    # polygons of 48 corners stand for circles
    assert found.volume == pytest.approx(shape.volume, rel=0.03)
    flat = isinstance(shape, mse.Box | mse.Plate)
    if flat:
        assert found.volume == pytest.approx(shape.volume, rel=1e-13)
        _, center, inertia = shape.mass_properties(1.0)
        np.testing.assert_allclose(found.center, center, atol=1e-15)
        np.testing.assert_allclose(np.trace(found.second) * np.eye(3) - found.second, inertia, rtol=1e-12, atol=1e-16)
    assert len(edges)
    assert edges.max() < len(vertices)
    with pytest.raises(ValueError, match="read-only"):
        vertices[0] = 0.0


def test_a_shape_that_is_moved_and_turned_has_its_inertia_turned():
    box = mse.Box((0.3, 0.2, 0.1))
    moved = mse.Box((0.3, 0.2, 0.1), at=TURN)
    np.testing.assert_allclose(moved.mass_properties(7.0).center, TURN.o, rtol=1e-15)
    np.testing.assert_allclose(
        moved.mass_properties(7.0).inertia, TURN.U @ box.mass_properties(7.0).inertia @ TURN.U.T, rtol=1e-12, atol=1e-16
    )


def test_sharp_edges_are_those_of_a_part_and_not_of_its_facets():
    assert len(mse.Box((1, 2, 3)).mesh.edges) == 12
    assert len(mse.Cylinder(1.0, 2.0).mesh.edges) == 2 * 48  # the rims
    assert len(mse.Plate([(0, 0), (1, 0), (0, 1)], 0.1).mesh.edges) == 9


@pytest.mark.parametrize("shape", EVERY, ids=lambda s: type(s).__name__)
def test_what_is_inside_a_surface(shape):
    vertices, triangles, _ = shape.mesh
    points = shape.at.apply([(0, 0, 0), (0.08, 0, 0), (0.02, 0.01, 0.03), (0.5, 0.19, 0), (0.9, 0.5, 0.04), (3, 0, 0)])
    expected = {
        mse.Box: [1, 1, 1, 0, 0, 0],
        mse.Cylinder: [not shape.inner_radius, 1, not shape.inner_radius, 0, 0, 0]
        if hasattr(shape, "inner_radius")
        else [],
        mse.Sphere: [1, 1, 1, 0, 0, 0],
        mse.Plate: [0, 0, 1, 1, 1, 0],
    }[type(shape)]
    if isinstance(shape, mse.Plate):
        points, expected = points[2:], expected[2:]  # the others are on its surface
    np.testing.assert_array_equal(triangulations.inside(vertices, triangles, points), np.array(expected, dtype=bool))


def test_hollow_plates_are_filled_and_either_direction_will_do():
    corners = [(0, 0), (1, 0), (1, 1), (0.5, 0.2), (0, 1)]
    for given in (corners, corners[::-1]):
        assert mse.Plate(given, 0.5).volume == pytest.approx(0.5 * (1 - 0.4), rel=1e-13)
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    star = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(np.arange(60) % 2, 0.3, 1.0)[:, None]
    assert mse.Plate(star, 1.0).volume == pytest.approx(triangulations.polygon_area(star), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mse.Box((1, 2)), r"Box: size has shape \(2,\); expected three finite numbers \(m\)"),
        (lambda: mse.Box((1, 0, 1)), r"Box: size\[1\] is 0.0 m; expected a finite number greater than 0"),
        (lambda: mse.Cylinder(0.1, -1.0), "Cylinder: length is -1.0 m"),
        (lambda: mse.Cylinder(0.1, 1.0, inner_radius=0.1), "inner_radius is 0.1 m; expected less than its radius"),
        (lambda: mse.Sphere("big"), "Sphere: radius is 'big'"),
        (lambda: mse.Sphere(1.0, at=(0, 0, 1)), "Sphere: at is .*; expected a Pose"),
        (lambda: mse.Plate([(0, 0), (1, 0)], 0.1), "it has 2 corners; expected from 3 to 1000"),
        (lambda: mse.Plate([(0, 0), (1, 1), (1, 0), (0, 1)], 0.1), "touch or cross"),
        (lambda: mse.Plate([(0, 0), (1, 0), (2, 0)], 0.1), "are on a line"),
        (lambda: mse.Box((1, 1, 1)).mass_properties(0.0), "density is 0.0 kg/m3"),
        (lambda: mse.RigidBody("b", shape="box"), "RigidBody 'b': shape is 'box'; expected a shape such as mse.Box"),
        (lambda: mse.RigidBody("b", shape=mse.Sphere(1)), "RigidBody 'b': neither mass nor density is given"),
        (lambda: mse.RigidBody("b", density=1.0), "RigidBody 'b': density is given without a shape"),
        (lambda: mse.RigidBody("b", shape=mse.Sphere(1), density=1.0, mass=2.0), "mass and density are given"),
    ],
)
def test_what_is_no_shape_is_refused_by_name(make, message):
    with pytest.raises(mse.ModelError, match=message):
        make()


def test_shapes_that_bodies_share_do_not_change(part):
    for shape in (mse.Sphere(1.0), part(text(TETRAHEDRON[FACETS]))):
        with pytest.raises(AttributeError, match="cannot assign to field"):
            shape.at = TURN


# -- files ----------------------------------------------------------------------------------------------------------------
def test_binary_and_text_files_give_the_same_triangles(part):
    exact = TETRAHEDRON[FACETS].astype(np.float32).astype(float)
    one, other = part(binary(exact)), part(text(exact))
    np.testing.assert_array_equal(one.mesh.vertices, other.mesh.vertices)
    np.testing.assert_array_equal(one.mesh.triangles, other.mesh.triangles)
    assert len(one.mesh.vertices) == 4
    # some programs begin binary files with the word, too; and a unit is a scale
    np.testing.assert_array_equal(part(binary(exact, b"solid part"), scale=1e-3).vertices, 1e-3 * one.vertices)
    # several parts in one text
    apart = np.array([2.0, 0.0, 0.0])
    assert part(text(exact) + text(exact + apart)).volume == pytest.approx(2 * one.volume, rel=1e-12)


def test_a_file_that_is_inside_out_is_turned(part):
    shape = part(text(TETRAHEDRON[FACETS[:, ::-1]]))
    assert shape.mass_properties(1.0).mass > 0
    assert triangulations.enclosed(*shape.mesh[:2]).volume > 0


def test_an_open_surface_has_no_mass_but_a_picture(part):
    shape = part(text(TETRAHEDRON[FACETS[:3]]))
    with pytest.raises(mse.ModelError, match="Stl: its surface is open along 3 edges, so it has no volume"):
        mse.RigidBody("cover", shape=shape, density=1000.0)
    assert len(mse.RigidBody("cover", mass=1.0, shape=shape).shape.mesh.triangles) == 3
    flat = part(text(np.array([TETRAHEDRON[[0, 1, 2]], TETRAHEDRON[[0, 2, 1]]])))
    with pytest.raises(mse.ModelError, match="almost nothing for its extent"):
        _ = flat.volume


def test_damaged_and_hostile_files_are_refused_by_name(part, tmp_path):
    good = binary(TETRAHEDRON[FACETS])
    for content, message in (
        (b"", "no STL file: it has 0 bytes"),
        (good[:-1], "no STL file"),
        (good[:80] + struct.pack("<I", 2**32 - 1) + good[84:], "no STL file"),
        (b"\0" * 84, "has no triangles"),
        (b"solid nothing\nendsolid nothing\n", "has no triangles"),
        (text(TETRAHEDRON[FACETS]).replace("endfacet", "endface"), "the text from line 2 on is not a facet"),
        (text(TETRAHEDRON[FACETS]).replace("0.7", "far"), "line 2: a corner is not a number"),
        (text(TETRAHEDRON[FACETS]).replace("0.7", "nan"), r"part.stl: triangle 1 has a corner at .*nan"),
        (text(TETRAHEDRON[FACETS]).replace("0.7", "1e40"), "expected finite coordinates of at most 1e"),
        (text(TETRAHEDRON[FACETS]).replace("0.7", "7" * 100), "is not a facet"),
        (text(TETRAHEDRON[FACETS][:, [0, 0, 0]]), "have zero area"),
        (
            b"\0" * 80 + struct.pack("<I", 200_001) + b"\0" * 50 * 200_001,
            "has 200001 triangles; expected at most 200000",
        ),
    ):
        with pytest.raises(mse.ModelError, match=message):
            part(content)
    with pytest.raises(mse.FileError, match="there is no such file"):
        mse.Stl(tmp_path / "none.stl")


def test_files_cut_anywhere_and_altered_bytes_never_raise_anything_else(part):
    rng = np.random.default_rng(5)
    for content in (binary(TETRAHEDRON[FACETS]), text(TETRAHEDRON[FACETS]).encode()):
        refused = 0
        for _ in range(150):
            bad = bytearray(content[: rng.integers(len(content))] if rng.random() < 0.4 else content)
            for place in rng.integers(max(len(bad), 1), size=3) if len(bad) else ():
                bad[place] = rng.integers(256)
            try:
                _ = part(bytes(bad)).mesh
            except mse.ModelError as error:
                refused += 1
                assert "part.stl" in str(error)
        assert refused > 50


# -- OBJ files ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def obj(tmp_path):
    """Writes an OBJ file and reads it."""

    def read(content: bytes | str, **options) -> mse.Obj:
        path = tmp_path / "part.obj"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return mse.Obj(path, **options)

    return read


def obj_text(points, faces) -> str:
    return "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist()) + "".join(
        "f " + " ".join(map(str, face)) + "\n" for face in faces
    )


def test_an_obj_file_has_the_solid_of_its_faces(obj, part):
    plain = obj_text(TETRAHEDRON, FACETS + 1)
    same = part(text(TETRAHEDRON[FACETS]))
    for content in (
        plain,
        "# made by hand\nmtllib a.mtl\no part\n"
        + plain.replace("f ", "s off\nusemtl steel\nf ").replace("\n", " # x\r\n"),
        obj_text(TETRAHEDRON, [[f"{k + 1}/7/8" if k % 2 else f"{k + 1}//3" for k in face] for face in FACETS]),
        obj_text(TETRAHEDRON, FACETS - 4),
        plain.replace(" ", " \\\n", 5),
        plain.replace("\n", " 1.0\n", 4),
    ):
        shape = obj(content)
        np.testing.assert_array_equal(shape.vertices, same.vertices)
        assert shape.volume == pytest.approx(A * B * C / 6, rel=1e-14)
    assert obj(plain, scale=1e-3).volume == pytest.approx(1e-9 * A * B * C / 6, rel=1e-14)


def test_faces_of_many_corners_are_filled_even_where_they_are_hollow(obj):
    arrow = np.array([(0, 0), (2, 1), (0, 2), (1, 1)])  # hollow at its last corner
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):  # in each of the three planes
        points = np.vstack([np.column_stack([arrow, np.full(4, z)])[:, order] for z in (0.0, 0.5)])
        sides = [(k, (k + 1) % 4, (k + 1) % 4 + 4, k + 4) for k in range(4)]
        faces = np.array([(3, 2, 1, 0), (4, 5, 6, 7), *sides]) + 1
        assert obj(obj_text(points, faces)).volume == pytest.approx(0.5, rel=1e-14)
        assert obj(obj_text(points, faces[:, ::-1])).volume == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "part.obj has no faces"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2 3\n", "part.obj has no faces"),
        ("v 0 0\n", "line 1: a point does not have three numbers"),
        ("v 0 0 x\n", "line 1: a point does not have three numbers"),
        ("v 0 0 0\nf 1 1\n", "line 2: a face has 2 corners; expected from 3 to 200"),
        ("v 0 0 0\nf" + 201 * " 1", "line 2: a face has 201 corners"),
        ("v 0 0 0\nf 1 1 2\n", "line 2: a corner is '2'; expected the number of one of the 1 points above"),
        ("v 0 0 0\nf 1 1 0\n", "a corner is '0'"),
        ("v 0 0 0\nf 1 1 -2\n", "a corner is '-2'"),
        ("v 0 0 0\nf 1 1 a/b\n", "a corner is 'a/b'"),
        ("v 0 0 0\nf 1 1 1\n", "zero area"),
        ("v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "finite coordinates"),
        ("v 1e300 0 0\nv -1e300 1e300 0\nv 0 1 1e300\nv 1 1 0\nf 1 2 3 4\n", "finite coordinates"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3\n" * 200_001, "has 200001 triangles; expected at most 200000"),
    ],
    ids=range(14),
)
def test_files_that_are_no_obj_file_are_refused_with_the_place(obj, content, message):
    with pytest.raises(mse.ModelError, match=message):
        obj(content)


def test_obj_files_with_altered_bytes_never_raise_anything_else(obj):
    rng = np.random.default_rng(5)
    content, refused = obj_text(TETRAHEDRON, FACETS + 1).encode(), 0
    for _ in range(300):
        bad = bytearray(content[: rng.integers(len(content))] if rng.random() < 0.4 else content)
        for place in rng.integers(max(len(bad), 1), size=3) if len(bad) else ():
            bad[place] = rng.integers(256)
        try:
            _ = obj(bytes(bad)).mesh
        except mse.ModelError as error:
            refused += 1
            assert "part.obj" in str(error)
    assert refused > 100


# -- bodies ---------------------------------------------------------------------------------------------------------------
def test_density_gives_mass_and_inertia_about_frame_0(part):
    shape = part(text(TETRAHEDRON[FACETS]))
    expected = shape.mass_properties(2700.0)
    body = mse.RigidBody("part", shape=shape, density=2700.0)
    assert body.mass == expected.mass
    np.testing.assert_array_equal(body.inertia, expected.inertia)
    # the center of mass is frame 0, so the shape moves there
    np.testing.assert_allclose(body.shape.at.o, -expected.center, rtol=1e-15)
    np.testing.assert_allclose(body.shape.mass_properties(1.0).center, 0.0, atol=1e-15)
    body.shape = None
    assert body.mass == expected.mass


@pytest.mark.parametrize("shape", EVERY, ids=lambda s: type(s).__name__)
def test_the_outline_moves_with_the_body(shape):
    body = mse.RigidBody("body", mass=1.0, shape=shape, frames={"hook": Pose.dz(0.1)})
    outline = body.outline([FramePose(TURN.o, TURN.U)])
    np.testing.assert_allclose(outline.points[2:], TURN.apply(shape.mesh.vertices), atol=1e-15)
    assert outline.lines[0] == (0, 1)
    np.testing.assert_array_equal(np.array(outline.faces) - 2, shape.mesh.triangles)


def test_bodies_with_shapes_are_saved_without_loss(part, tmp_path):
    stl = part(text(TETRAHEDRON[FACETS] / 3.0))
    system = mse.MSystem("shapes")
    for k, shape in enumerate([*EVERY, stl, None]):
        system.add(mse.RigidBody(f"body{k}", mass=1.0 / 3.0, shape=shape))
    uniform = system.add(mse.RigidBody("uniform", shape=stl, density=1000.0 / 3.0))
    path = tmp_path / "shapes.json"
    system.save(path)
    again = mse.read_model(path)
    for name in [o.name for o in system.objects]:
        before, after = system[name].shape, again[name].shape
        assert type(after) is type(before)
        if before is not None:
            np.testing.assert_array_equal(after.mesh.vertices, before.mesh.vertices)
            np.testing.assert_array_equal(after.mesh.triangles, before.mesh.triangles)
    np.testing.assert_array_equal(again["uniform"].inertia, uniform.inertia)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()
    assert type(pickle.loads(pickle.dumps(uniform)).shape) is mse.Stl


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "Cone"}, r"no kind of shape 'Cone' \("),
        ({"kind": "Cylinder"}, "Cylinder: no property 'vertices'"),
        ({"more": 1}, "no property 'more'"),
        ({"triangles": [[0, 1, 4]]}, "do not fit 4 vertices"),
        ({"triangles": [[0, 1, -1]]}, "do not fit 4 vertices"),
        ({"triangles": [[0, 1, 1.5]]}, "do not fit 4 vertices"),
        ({"triangles": []}, "triangles"),
        ({"vertices": [[0, 0]]}, "vertices has shape"),
        ({"vertices": "far"}, "vertices"),
        ({"at": None}, "Stl: at is None; expected a Pose"),
    ],
)
def test_files_with_other_shapes_are_refused(part, tmp_path, changes, message):
    system = mse.MSystem("one")
    system.add(mse.RigidBody("body", mass=1.0, shape=part(text(TETRAHEDRON[FACETS]))))
    path = tmp_path / "one.json"
    system.save(path)
    content = json.loads(path.read_text())
    content["system"]["objects"][0]["options"]["shape"] |= changes
    path.write_text(json.dumps(content))
    with pytest.raises(mse.FileError, match=message):
        mse.read_model(path)


def test_a_shape_changes_nothing_but_pictures():
    def frequencies(**options):
        system = mse.MSystem("mount", gravity=(0, 0, 0))
        mass = system.add(mse.RigidBody("mass", mass=1.0, inertia=0.1, **options))
        system.add(mse.Bushing("seat", stiffness=1e3), between=(mass, system.ground))
        other = system.add(mse.RigidBody("other", mass=1.0, inertia=0.1))
        system.add(mse.Bushing("link", stiffness=1e3), between=(mass, other))
        return system.find_working_point().linearize().modes().frequencies_hz

    np.testing.assert_array_equal(frequencies(shape=mse.Sphere(0.3)), frequencies())


def test_shapes_of_all_kinds_are_public():
    below = [kind for base in Shape.__subclasses__() for kind in (base, *base.__subclasses__())]
    kinds = [kind for kind in below if kind.__module__.startswith("mse.") and not kind.__name__.startswith("_")]
    assert {kind.__name__ for kind in kinds} == {"Box", "Cylinder", "Sphere", "Plate", "Stl", "Obj", "Dae"}
    assert all(getattr(mse, kind.__name__) is kind for kind in kinds)
