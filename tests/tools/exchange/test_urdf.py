"""Robots from URDF: the same motion as by hand, shapes where they belong, and nothing that a file should not do."""

from __future__ import annotations

import struct
import warnings

import numpy as np
import pytest

import mse
from mse import Pose
from mse.errors import FileError, ModelWarning

G = 9.8


def written(tmp_path, text: str, name: str = "robot.urdf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def link(
    name: str, mass: float, center: str = "0 0 0", rpy: str = "0 0 0", inertia=(0.01, 0.02, 0.03), visual: str = ""
) -> str:
    xx, yy, zz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{center}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>{visual}</link>'
    )


def joint(name: str, kind: str, parent: str, child: str, inside: str = '<axis xyz="0 1 0"/>', origin: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{origin}{inside}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="arm">\n{chr(10).join(parts)}\n</robot>'


def test_a_double_pendulum_moves_as_one_built_by_hand(tmp_path):
    text = robot(
        '<link name="base"/>',
        link("upper", 2.0, "0.05 0 -0.4", "0 0.3 0.2"),
        link("lower", 1.0, "0 0 -0.25"),
        joint("shoulder", "continuous", "base", "upper", '<axis xyz="0 1 0"/><dynamics damping="0.02"/>'),
        joint("elbow", "revolute", "upper", "lower", '<axis xyz="1 1 0"/><limit lower="-1" upper="1.5" effort="1"/>',
              '<origin xyz="0 0 -0.8" rpy="0 0 0.5"/>'),
    )  # fmt: skip
    found = mse.read_urdf(written(tmp_path, text))
    own = mse.MSystem("own")
    turn = Pose.rz(0.2) @ Pose.ry(0.3)
    upper = own.add(mse.RigidBody("upper", mass=2.0, inertia=(0.01, 0.02, 0.03), at=Pose((0.05, 0, -0.4)) @ turn))
    lower = own.add(mse.RigidBody("lower", mass=1.0, inertia=(0.01, 0.02, 0.03),
                                  at=Pose.dz(-0.8) @ Pose.rz(0.5) @ Pose.dz(-0.25)))  # fmt: skip
    shoulder = own.add(mse.Revolute("shoulder", axis=(0, 1, 0), damping=0.02))
    elbow = own.add(mse.Revolute("elbow", axis=(1, 1, 0)))
    link_upper = (Pose((0.05, 0, -0.4)) @ turn).inverse()
    own.clamp(own.ground, shoulder.frame(1))
    own.clamp(upper.frame(0), shoulder.frame(0), link_upper)
    own.clamp(upper.frame(0), elbow.frame(1), link_upper @ Pose.dz(-0.8) @ Pose.rz(0.5))
    own.clamp(lower.frame(0), elbow.frame(0), Pose.dz(0.25))
    a, b = found.find_working_point(), own.find_working_point()
    np.testing.assert_allclose(a.poses["lower.center"].o, b.poses["lower.center"].o, atol=1e-9)
    one, other = (wp.linearize().modes(damped=True).eigenvalues for wp in (a, b))
    np.testing.assert_allclose(one, other, rtol=1e-8)
    np.testing.assert_allclose(
        [a.joint_coordinates["shoulder.angle"], a.joint_coordinates["elbow.angle"]],
        [b.joint_coordinates["shoulder.angle"], b.joint_coordinates["elbow.angle"]], atol=1e-9,
    )  # fmt: skip
    assert found["elbow"].parameters["lower"] == (-1.0,) and found["elbow"].parameters["upper"] == (1.5,)


def test_a_joint_turns_to_the_side_that_its_axis_says(tmp_path):
    text = robot('<link name="base"/>', link("arm", 1.0, "0.5 0 0"), joint("hinge", "continuous", "base", "arm"))
    system = mse.read_urdf(written(tmp_path, text))
    # hanging down from +x is a turn of +90 degrees about +y
    assert system.find_working_point().joint_coordinates["hinge.angle"] == pytest.approx(np.pi / 2)


def test_slides_planes_and_fixed_joints(tmp_path):
    text = robot(
        link("base", 1.0), link("cart", 2.0), link("lamp", 0.5), link("puck", 0.2),
        joint("rail", "prismatic", "base", "cart", '<axis xyz="1 0 0"/><limit lower="-0.5" upper="0.5" effort="1"/>'),
        joint("bolt", "fixed", "cart", "lamp", "", '<origin xyz="0 0 0.3"/>'),
        joint("table", "planar", "cart", "puck", '<axis xyz="0 0 1"/>'),
    )  # fmt: skip
    system = mse.read_urdf(written(tmp_path, text))
    assert system.find_working_point().linearize().null_space().basis.shape[1] == 1 + 3
    free = mse.read_urdf(written(tmp_path, text), fixed=False)
    free.gravity = (0, 0, 0)
    assert free.find_working_point().linearize().null_space().basis.shape[1] == 6 + 4
    assert [type(o).__name__ for o in system.objects].count("RigidBody") == 4 and isinstance(
        system["rail"], mse.Prismatic
    )


def test_joints_that_mimic_others_move_with_them(tmp_path):
    text = robot(
        link("base", 1.0),
        link("lower", 1.0, "0 0 -0.3"),
        link("upper", 0.5, "0 0 -0.2"),
        link("cart", 0.3),
        joint("hip", "continuous", "base", "lower"),
        joint("knee", "revolute", "lower", "upper", '<axis xyz="0 2 0"/><limit lower="-2" upper="2" effort="1"/>'
              '<mimic joint="hip" multiplier="-0.5" offset="0.3"/>', '<origin xyz="0 0 -0.6"/>'),
        joint("rail", "prismatic", "base", "cart", '<axis xyz="2 0 0"/><mimic joint="knee" multiplier="0.1"/>'),
        joint("stuck", "continuous", "cart", "flag", '<axis xyz="0 0 1"/><mimic joint="hip" multiplier="0" offset="-0.7"/>'),
        link("flag", 0.1),
    )  # fmt: skip
    system = mse.read_urdf(written(tmp_path, text))
    assert system["upper"].at.rotation_vector() == pytest.approx([0.0, 0.3, 0.0], abs=1e-12)
    assert system["cart"].at.o == pytest.approx([0.03, 0.0, 0.0], abs=1e-12)
    assert system["flag"].at.rotation_vector() == pytest.approx([0.0, 0.0, -0.7], abs=1e-12)
    point = system.find_working_point()
    angle = point.joint_coordinates
    assert abs(angle["hip.angle"]) > 0.01  # the bent knee pulls it aside
    assert angle["knee.angle"] == pytest.approx(0.3 - 0.5 * angle["hip.angle"], abs=1e-12)
    assert angle["rail.displacement"] == pytest.approx(0.1 * angle["knee.angle"], abs=1e-12)
    assert angle["stuck.angle"] == pytest.approx(-0.7, abs=1e-12)
    assert point.linearize().null_space().basis.shape[1] == 1
    assert sorted(o.name for o in system.objects if isinstance(o, mse.Gear)) == [
        "knee mimics hip", "rail mimics knee", "stuck mimics hip",
    ]  # fmt: skip


def test_names_with_dots_and_joints_named_as_links(tmp_path):
    text = robot('<link name="base.link"/>', link("arm", 1.0, "0 0 -1"), joint("arm", "continuous", "base.link", "arm"))
    system = mse.read_urdf(written(tmp_path, text))
    assert [o.name for o in system.objects] == ["base_link", "arm", "arm joint"]


def stl(corners) -> bytes:
    facets = [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]
    out = bytes(80) + struct.pack("<I", len(facets))
    for f in facets:
        out += struct.pack("<12fH", 0, 0, 0, *(x for k in f for x in corners[k]), 0)
    return out


def test_shapes_are_drawn_where_the_file_has_them(tmp_path):
    (tmp_path / "robot" / "urdf").mkdir(parents=True)
    (tmp_path / "robot" / "meshes").mkdir()
    corners = np.array([(0, 0, 0), (0, 100, 0), (100, 0, 0), (0, 0, 100)], dtype=float)
    (tmp_path / "robot" / "meshes" / "part.stl").write_bytes(stl(corners))

    points = "".join(f"v {x} {y} {z}\n" for x, y, z in (0.001 * corners).tolist())
    (tmp_path / "robot" / "meshes" / "part.OBJ").write_text(points + "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")

    def visual(form):
        return f'<visual><origin xyz="0 0 0.1"/><geometry>{form}</geometry></visual>'

    text = robot(
        link("base", 1.0, visual=visual('<box size="0.2 0.4 0.6"/>')),
        link("a", 1.0, "0 0 -1", visual=visual('<cylinder radius="0.1" length="0.5"/>')),
        link("b", 1.0, "0 0 -1", visual=visual('<sphere radius="0.3"/>')),
        link(
            "c",
            1.0,
            "0 0 -1",
            visual=visual('<mesh filename="package://robot/meshes/part.stl" scale="0.001 0.001 0.001"/>'),
        ),
        link("d", 1.0, "0 0 -1", visual=visual('<mesh filename="../meshes/part.stl" scale="0.001 0.001 0.001"/>')),
        link("e", 1.0, "0 0 -1", visual=visual('<mesh filename="../meshes/part.OBJ"/>')),
        *(joint(f"j{n}", "continuous", "base", n) for n in "abcde"),
    )
    system = mse.read_urdf(written(tmp_path / "robot" / "urdf", text))
    box = system["base"].shape.mesh[0]
    np.testing.assert_allclose([box.min(axis=0), box.max(axis=0)], [[-0.1, -0.2, -0.2], [0.1, 0.2, 0.4]], atol=1e-12)
    for name, low, high in (("a", 0.85, 1.35), ("b", 0.8, 1.4), ("c", 1.1, 1.2), ("d", 1.1, 1.2), ("e", 1.1, 1.2)):
        z = system[name].shape.mesh[0][:, 2]  # seen from the center of mass, 1 m below the link
        np.testing.assert_allclose([z.min(), z.max()], [low, high], atol=2e-3)


DAE = """<COLLADA version="1.4.1"><asset><unit meter="0.001"/>{0}</asset><library_geometries><geometry id="g"><mesh>
<source id="s"><float_array>0 0 0 100 0 0 0 200 0 0 0 300</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry>
</library_geometries></COLLADA>"""


def test_collada_meshes_have_their_unit_and_the_axes_of_the_link(tmp_path):
    visual = '<visual><geometry><mesh filename="package://x/part.DAE" scale="2 2 2"/></geometry></visual>'
    text = robot(link("base", 1.0, visual=visual), link("arm", 1.0, "0 0 -1"), joint("j", "continuous", "base", "arm"))
    for axis in ("", "<up_axis>Y_UP</up_axis>", "<up_axis>Z_UP</up_axis>"):
        (tmp_path / "part.DAE").write_text(DAE.format(axis))
        shape = mse.read_urdf(written(tmp_path, text))["base"].shape
        np.testing.assert_allclose(np.ptp(shape.mesh[0], axis=0), [0.2, 0.4, 0.6], rtol=1e-14)


def test_a_collada_mesh_that_cannot_be_read_stops_no_import(tmp_path):
    visual = '<visual><geometry><mesh filename="part.dae"/></geometry></visual>'
    text = robot(link("base", 1.0, visual=visual), link("arm", 1.0, "0 0 -1"), joint("j", "continuous", "base", "arm"))
    (tmp_path / "part.dae").write_text(DAE.format("").replace("triangles", "tristrips"))
    with (
        pytest.warns(ModelWarning, match="base cannot be drawn"),
        pytest.warns(ModelWarning, match="line 3: this mesh is not drawn: .*part.dae: line 4: <tristrips> is not read"),
    ):
        assert mse.read_urdf(written(tmp_path, text))["base"].shape is None


def test_what_cannot_be_drawn_or_held_is_told(tmp_path):
    visual = '<visual><geometry><mesh filename="package://x/part.dae"/></geometry></visual>'
    text = robot(link("base", 1.0, visual=visual), link("arm", 1.0, "0 0 -1"), joint("j", "continuous", "base", "arm"))
    with pytest.warns(ModelWarning, match="base cannot be drawn"):
        assert mse.read_urdf(written(tmp_path, text))["base"].shape is None
    rough = joint("j", "continuous", "base", "arm", '<axis xyz="0 1 0"/><dynamics friction="0.3"/>')
    with pytest.warns(ModelWarning, match="friction of 'j' is left out"):
        mse.read_urdf(written(tmp_path, robot(link("base", 1.0), link("arm", 1.0, "0 0 -1"), rough)))


A, B, HINGE = link("a", 1.0), link("b", 1.0, "0 0 -1"), joint("j", "continuous", "a", "b")
BOMB = '<!DOCTYPE robot [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB + "<robot name='&b;'/>", "line 1 has a document type or an entity"),
        ('<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>', "document type or an entity"),
        ("<robot><link name='a'>", "no XML text"),
        ("<model/>", "it begins with <model>; expected <robot>"),
        (robot(), "0 links hang from no joint"),
        (robot(A, A), "has the name 'a', as another in line 3"),
        (robot(A, B), r"2 links hang from no joint \(a, b\)"),
        (robot(A, B, HINGE.replace("continuous", "revolut")), "'j' is of type 'revolut' .did you mean 'revolute'"),
        (robot(A, B, HINGE.replace('parent link="a"', 'parent link="x"')), "'j' has the parent 'x'"),
        (robot(A, B, HINGE, joint("k", "fixed", "a", "b", "")), "'k' carries 'b', as 'j' does"),
        (
            robot(A, B, link("c", 1.0), joint("j", "fixed", "b", "c", ""), joint("k", "fixed", "c", "b", "")),
            "ring of joints",
        ),
        (
            robot(A, B, HINGE.replace("<axis", '<mimic joint="k"/><axis')),
            "'j' mimics 'k' .known: j.; expected a joint of the file",
        ),
        (robot(A, B, HINGE.replace("<axis", '<mimic joint="j"/><axis')), "'j' mimics 'j', which in turn mimics it"),
        (robot(A, B, HINGE.replace("<axis", '<mimic joint="j" multiplier="2x"/><axis')), "has multiplier='2x'"),
        (
            robot(A, B, joint("j", "fixed", "a", "b", '<mimic joint="j"/>')),
            "<mimic> is in 'j', of type 'fixed'; expected one of type revolute, continuous, prismatic",
        ),
        (
            robot(
                A,
                B,
                link("c", 1.0),
                joint("j", "continuous", "a", "b", '<mimic joint="k"/>'),
                joint("k", "continuous", "b", "c", '<mimic joint="j"/>'),
            ),
            "'k' mimics 'j', which in turn mimics it",
        ),
        (robot(A, B, HINGE.replace("0 1 0", "0 1")), "has xyz='0 1'; expected 3 finite numbers"),
        (robot(A, B, HINGE.replace("0 1 0", "0 nan 0")), "expected 3 finite numbers"),
        (robot(A, B, HINGE.replace("0 1 0", "0 0 0")), "axis"),
        (robot(link("a", -1.0), B, HINGE), "mass"),
        (
            robot(A.replace("</link>", '<visual><geometry><box size="1 1 0"/></geometry></visual></link>')),
            "<box> is no shape",
        ),
        ("<a>" * 200, "200000 elements, or 100 levels"),
    ],
)
def test_files_that_are_no_robot_are_refused_with_the_place(text, message, tmp_path):
    with pytest.raises(FileError, match=message) as caught:
        mse.read_urdf(written(tmp_path, text))
    assert "robot.urdf" in str(caught.value)


def test_meshes_elsewhere_are_not_read(tmp_path):
    inner = tmp_path / "package" / "urdf"
    inner.mkdir(parents=True)
    (tmp_path / "secret.stl").write_bytes(stl(np.eye(4)[:, :3]))
    for name in (
        "../../secret.stl",
        str(tmp_path / "secret.stl"),
        f"file://{tmp_path}/secret.stl",
        "package://x/../../../secret.stl",
    ):
        visual = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        path = written(inner, robot(A.replace("</link>", visual + "</link>")))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                assert mse.read_urdf(path)["a"].shape is None
                assert "cannot be drawn" in str(told[0].message)
            except FileError as error:
                assert "outside of" in str(error)


def test_damaged_files_give_a_robot_or_a_refusal(tmp_path):
    content = robot(A, B, HINGE).encode()
    rng, path = np.random.default_rng(6), tmp_path / "robot.urdf"
    damaged = [content[:n] for n in rng.integers(0, len(content), 40)]
    for _ in range(200):
        piece = bytearray(content)
        piece[rng.integers(len(content))] = rng.integers(256)
        damaged.append(bytes(piece))
    refused = 0
    for piece in damaged:
        path.write_bytes(piece)
        try:
            assert isinstance(mse.read_urdf(path), mse.MSystem)
        except FileError as error:
            assert "robot.urdf" in str(error)
            refused += 1
        except ModelWarning:  # an inertia that no body has
            pass
    assert refused > 60
