"""COLLADA files: the surfaces that their scenes place, and nothing that a file should not do."""

from __future__ import annotations

import numpy as np
import pytest

import mse
from mse import Pose
from mse.elements.collada_files import read_dae

# a solid without symmetry: a tetrahedron, and its faces as seen from outside
POINTS = np.array([(0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0)])
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
VERTEX = '<input semantic="VERTEX" source="#points" offset="0"/>'
TRIANGLES = f'<triangles count="4" material="m">{VERTEX}<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>'
SOURCE = (
    '<source id="places"><float_array id="a" count="12">0 0 0 3 0 0 0 2 0 0 0 1</float_array><technique_common>'
    '<accessor source="#a" count="4" stride="3"><param name="X" type="float"/></accessor></technique_common></source>'
    '<vertices id="points"><input semantic="POSITION" source="#places"/></vertices>'
)
PLACED = '<instance_geometry url="#part"/>'
ASSET = '<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>'


def dae(faces: str = TRIANGLES, *, nodes: str | None = f"<node>{PLACED}</node>", asset: str = ASSET, source: str = SOURCE,
        more: str = "") -> str:  # fmt: skip
    """A file with one geometry, "part", and a scene of nodes."""
    scene = "" if nodes is None else (
        f'<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>'
        '<scene><instance_visual_scene url="#s"/></scene>'
    )  # fmt: skip
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        f'{asset}{more}<library_geometries><geometry id="part"><mesh>{source}{faces}</mesh></geometry></library_geometries>'
        f"{scene}</COLLADA>"
    )


@pytest.fixture
def written(tmp_path):
    """Writes a file and gives its path."""

    def write(content: str | bytes):
        path = tmp_path / "part.dae"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def placed(points: np.ndarray) -> np.ndarray:
    """Corners of the tetrahedron with other points."""
    return points[FACES]


def test_triangles_polylists_and_polygons_are_the_same_surface(written):
    normal = (
        '<input semantic="NORMAL" source="#none" offset="0"/><input semantic="VERTEX" source="#points" offset="2"/>'
    )
    wide = " ".join(f"7 8 {k}" for k in FACES.ravel())
    polygons = "".join(f"<p>{' '.join(map(str, face))}</p>" for face in FACES)
    apart = SOURCE.replace("0 0 0 3 0 0 0 2 0 0 0 1", "9 0 0 0 9 3 0 0 9 0 2 0 9 0 0 1 9").replace(
        'stride="3"', 'stride="4" offset="1"'
    )
    for text in (
        dae(),
        dae(nodes=None),
        dae(TRIANGLES.replace("0 3 2", "0\n\t3\r\n2")),
        dae(f'<lines count="1">{VERTEX}<p>0 1</p></lines>' + TRIANGLES),
        dae(f"<triangles>{normal}<p>{wide}</p></triangles>"),
        dae(f"<polylist>{VERTEX}<vcount>3 3 3 3</vcount><p>0 2 1 0 1 3 0 3 2 1 2 3</p></polylist>"),
        dae(f"<polygons>{VERTEX}{polygons}</polygons>"),
        dae(source=apart),
        dae('<triangles count="0"><input semantic="VERTEX" source="#points" offset="0"/></triangles>' + TRIANGLES),
    ):
        np.testing.assert_array_equal(read_dae(written(text)), placed(POINTS))
    assert mse.Dae(written(dae())).volume == pytest.approx(1.0, rel=1e-14)


def test_faces_of_many_corners_are_filled_even_where_they_are_hollow(written):
    # a prism over an arrowhead, hollow at its last corner, of four and five corners a face in one list
    arrow = [(0, 0), (2, 1), (0, 2), (1, 1)]
    values = " ".join(f"{x} {y} {z}" for z in (0.0, 0.5) for x, y in arrow)
    source = SOURCE.replace("0 0 0 3 0 0 0 2 0 0 0 1", values)
    sides = "".join(f" {k} {(k + 1) % 4} {(k + 1) % 4 + 4} {k + 4}" for k in range(3))
    p = f"3 2 1 0 4 5 6 7{sides} 3 0 4 3 4 7"
    faces = f"<polylist>{VERTEX}<vcount>4 4 4 4 4 3 3</vcount><p>{p}</p></polylist>"
    assert mse.Dae(written(dae(faces, source=source))).volume == pytest.approx(0.5, rel=1e-14)


def test_nodes_place_geometries_by_all_that_is_above_them(written):
    beside = f"<node><matrix>1 0 0 5 0 1 0 0 0 0 1 0 0 0 0 1</matrix>{PLACED}</node>"
    inner = f"<node><rotate>0 0 2 90</rotate><scale>1 2 3</scale>{PLACED}{beside}</node>"
    other = f"<node>{PLACED}<instance_light url='#l'/></node>"
    text = dae(nodes=f"<node><translate>10 0 0</translate>{inner}</node>{other}")
    turn = Pose.rz(np.pi / 2).U @ np.diag([1.0, 2.0, 3.0])
    moved, further = np.array([10.0, 0.0, 0.0]), np.array([5.0, 0.0, 0.0])
    expected = [moved + POINTS @ turn.T, moved + (POINTS + further) @ turn.T, POINTS]
    np.testing.assert_allclose(read_dae(written(text)), np.concatenate([placed(p) for p in expected]), atol=1e-14)
    # what is mirrored has its outside outside
    shape = mse.Dae(written(dae(nodes=f"<node><scale>-1 1 1</scale>{PLACED}</node>")))
    a, b, c = np.moveaxis(shape.vertices[shape.triangles], 1, 0)
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(1.0, rel=1e-14)


def test_meshes_that_name_their_parts_alike_keep_their_own(written):
    wider = SOURCE.replace("0 0 0 3 0 0", "0 0 0 6 0 0")
    other = f'<geometry id="other"><mesh>{wider}{TRIANGLES}</mesh></geometry>'
    text = dae(nodes=f'<node>{PLACED}<instance_geometry url="#other"/></node>').replace(
        "</library_g", f"{other}</library_g"
    )
    expected = np.concatenate([placed(POINTS), placed(POINTS * (2.0, 1.0, 1.0))])
    np.testing.assert_array_equal(read_dae(written(text)), expected)


def test_nodes_of_a_library_are_placed_where_they_are_referred_to(written):
    library = f'<library_nodes><node id="two"><translate>0 0 4</translate>{PLACED}</node></library_nodes>'
    text = dae(nodes="<node><translate>1 0 0</translate><instance_node url='#two'/></node>", more=library)
    np.testing.assert_array_equal(read_dae(written(text)), placed(POINTS + np.array([1.0, 0.0, 4.0])))


@pytest.mark.parametrize(
    ("asset", "upright", "expected"),
    [
        ("<asset><unit meter='0.0254'/><up_axis>Z_UP</up_axis></asset>", True, 0.0254 * POINTS),
        ("", True, POINTS @ Pose.rx(np.pi / 2).U.T),
        ("", False, POINTS),
        ("<asset><up_axis> Y_UP\n</up_axis></asset>", True, POINTS @ Pose.rx(np.pi / 2).U.T),
        ("<asset><up_axis>X_UP</up_axis></asset>", True, np.column_stack([-POINTS[:, 1], -POINTS[:, 2], POINTS[:, 0]])),
    ],
)
def test_units_are_meters_and_the_axis_that_points_upwards_is_z(written, asset, upright, expected):
    np.testing.assert_allclose(read_dae(written(dae(asset=asset)), upright=upright), placed(expected), atol=1e-15)
    shape = mse.Dae(written(dae(asset=asset)), scale=2.0, upright=upright, at=Pose.dz(1.0))
    np.testing.assert_allclose(shape.mesh[0].min(axis=0), 2.0 * expected.min(axis=0) + (0, 0, 1), atol=1e-15)


def refer(count: int) -> str:
    """Nodes of which each refers to the next one twice."""
    nodes = [f'<node id="n{k}">' + 2 * f'<instance_node url="#n{k + 1}"/>' + "</node>" for k in range(count)]
    return f'<library_nodes>{"".join(nodes)}<node id="n{count}">{PLACED}</node></library_nodes>'


MANY = TRIANGLES.replace("1 2 3<", "1 2 3" + 20 * " 1 2 3" + "<")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no XML text .*expected a COLLADA file"),
        ("<robot/>", "it begins with <robot>; expected <COLLADA>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>', "line 1 has a document type or an entity"),
        ("<COLLADA/>", "has no faces; expected a COLLADA file of a surface"),
        (dae(""), "has no faces"),
        (dae(nodes="<node/>"), "has no faces"),
        (dae(TRIANGLES.replace("triangles", "tristrips")), "line 2: <tristrips> is not read; expected triangles, polylist"),
        (dae(nodes='<node><instance_controller url="#skin"/></node>'), "<instance_controller> is not read"),
        (dae(nodes=f"<node><lookat>0 0 1 0 0 0 0 1 0</lookat>{PLACED}</node>"), "<lookat> is not read"),
        (dae().replace("<mesh>", "<spline>").replace("</mesh>", "</spline>"), "'part' holds <spline>; expected a <mesh>"),
        (dae(f"<polygons>{VERTEX}<ph><p>0 1 2</p><h>1 2 3</h></ph></polygons>"), "<ph> is a polygon with holes"),
        (dae(TRIANGLES.replace("1 2 3<", "1 2 4<")), "<triangles> has corners from 0 to 4; expected numbers of 4 points"),
        (dae(TRIANGLES.replace("1 2 3<", "1 2 -1<")), "has corners from -1 to 3"),
        (dae(TRIANGLES.replace("1 2 3<", "1 2<")), "<triangles> has 11 corners; expected 12 for its faces"),
        (dae(TRIANGLES.replace("1 2 3<", "1 2 x<")), "<p> has '0 2 1 0 1 3 0 3 2 1 2 x'; expected whole numbers"),
        (dae(TRIANGLES.replace('"0"/>', '"1"/>').replace("2 3<", "2<")), "has 11 numbers in <p>; expected 2 for each corner"),
        (dae(TRIANGLES.replace('"0"/>', '"-1"/>')), "has 1 inputs; expected one of semantic VERTEX, and offsets from 0 on"),
        (dae(TRIANGLES.replace("VERTEX", "NORMAL")), "expected one of semantic VERTEX"),
        (dae(f"<polylist>{VERTEX}<vcount>3 2</vcount><p>0 2 1 0 1</p></polylist>"), "faces with 2 to 3 corners"),
        (dae(f"<polylist>{VERTEX}<p>0 2 1 0 1</p></polylist>"), "<polylist> has 5 corners; expected 0 for its faces"),
        (dae(source=SOURCE.replace("POSITION", "NORMAL")), "<vertices> has no input of semantic POSITION"),
        (dae(source=SOURCE.replace("0 0 0 1<", "0 0 0 nan<")), "<float_array> has '0 0 0 3 .* nan'; expected finite numbers"),
        (dae(source=SOURCE.replace("0 0 0 1<", "0 0 0 1e40<")), "<float_array> has 1e.40; expected coordinates of at most 1e.30"),
        (dae(source=SOURCE.replace("0 0 0 1<", "0 0 0<")), "<float_array> has 11 numbers from 0 on, 3 a point"),
        (dae(source=SOURCE.replace('stride="3"', 'stride="0"').replace("0 0 0 1<", "0 0 0<")), "expected three or more"),
        (dae(source=SOURCE.replace("#places", "other.dae#places")), "has source='other.dae#places'"),
        (dae(nodes='<node><instance_geometry url="#points"/></node>'), "'#points'; expected '#' and the id of a <geometry>"),
        (dae(nodes=f"<node><matrix>1 0 0 0</matrix>{PLACED}</node>"), "<matrix> has '1 0 0 0'; expected 16 finite numbers"),
        (dae(nodes=f"<node><matrix>{16 * '1 '}</matrix>{PLACED}</node>"), "has the last row .1.0, 1.0, 1.0, 1.0."),
        (dae(nodes=f"<node><rotate>0 0 0 30</rotate>{PLACED}</node>"), "<rotate> has the axis .0.0, 0.0, 0.0."),
        (dae(nodes=f"<node>{3 * '<scale>1e200 1 1</scale>'}{PLACED}</node>"), "a triangle has corners at"),
        (dae(asset="<asset><unit meter='0'/></asset>"), "<unit> has meter='0'; expected a number above zero"),
        (dae(asset="<asset><up_axis>up</up_axis></asset>"), "<up_axis> is 'up'; expected one of X_UP, Y_UP, Z_UP"),
        (dae(nodes='<node><instance_node url="#n0"/></node>', more=refer(40)), "'n[0-9]*' has more than 100 levels of nodes"),
        (dae(nodes='<node id="a"><instance_node url="#a"/></node>'), "'a' has more than 100 levels"),
        (dae(MANY, nodes='<node><instance_node url="#n0"/></node>', more=refer(15)), "triangles; expected at most 200000"),
    ],
    ids=range(36),
)  # fmt: skip
def test_files_that_cannot_be_drawn_are_refused_with_the_place(written, text, message):
    with pytest.raises(mse.FileError, match=message) as caught:
        mse.Dae(written(text))
    assert "part.dae" in str(caught.value)


def test_files_with_altered_bytes_never_raise_anything_else(written):
    rng = np.random.default_rng(7)
    library = f'<library_nodes><node id="two"><rotate>0 0 1 20</rotate>{PLACED}</node></library_nodes>'
    polylist = f"<polylist>{VERTEX}<vcount>4 3 3 3</vcount><p>0 2 1 3 0 1 3 0 3 2 1 2 3</p></polylist>"
    content = dae(polylist + TRIANGLES, nodes="<node><instance_node url='#two'/></node>", more=library).encode()
    refused = read = 0
    for _ in range(400):
        bad = bytearray(content)
        for place in rng.integers(90, len(bad), size=rng.integers(1, 4)):
            bad[place] = rng.choice(list(b'0123456789 -.e<>"#a\xff'))
        try:
            _ = mse.Dae(written(bytes(bad))).mesh
            read += 1
        except mse.ModelError as error:
            refused += 1
            assert "part.dae" in str(error)
    assert refused > 100 and read > 5
