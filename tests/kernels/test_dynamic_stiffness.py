"""The dynamic stiffness of a uniform member against high precision, and its clamped count against a Ritz method."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.polynomial import Polynomial

from mse.kernels.dynamic_stiffness import (
    Plane,
    UniformMember,
    bar_stiffness,
    bending_stiffness,
    clamped_count,
    dynamic_stiffness,
    even_and_odd,
)

INF = np.inf
LENGTH, MASS = 1.3, 0.7

# (w^2, T, EI, kGA, rho I, (D00, D01, D02, D03, D11, D13)) for L = 1.3, rho A = 0.7, from the exponential of the first-order
# system over the whole length, by mpmath 1.3 with 100 to 600 digits
# fmt: off
HIGH_PRECISION = [
    (0.0121544, 0.0, 3.0, INF, 0.0, (
        16.381872663132874, 10.650134397387747, -16.387402977349023, 10.651332635986055, 9.23059120686162, 4.6155181338463604,
    )),
    (671.864, 0.0, 3.0, INF, 0.0, (
        -1111.3277943136386, -282.16731250606887, -984.7030940667388, 284.6564712893377, -70.75893975576281, 81.85249800950538,
    )),
    (24.0088, 53.2544, 3.0, INF, 0.0, (
        56.17970780832712, 14.0238205273775, -67.24979315746475, 15.718970137515198, 16.020515740167554, 3.570826433291228,
    )),
    (0.0937842, -69.9408, 3.0, INF, 0.0, (
        -53.7819053921972, -1.4752646810961192, 53.737399538007345, 1.5405689531110363, -2469.631876102477, 2469.6761482934407,
    )),
    (19.5553, -70.1183, 3.0, INF, 0.0, (
        -58.119897558754175, 22.271602319121346, 55.025743326289, -23.17521089140488, 187.72086276206502, -187.9251116860632,
    )),
    (240088.0, 177515.0, 3.0, INF, 0.0, (
        55380.40768570893, 230.5049320447809, -181598.24485608336, 746.5368870303523, 730.7102353829165, 3.068957655062378,
    )),
    (19447100.0, 0.0, 3.0, INF, 0.0, (
        -389343.29943984456, -2045.2384500349162, -309684.78408271994, 6709.8368324051835, 94.1480429616647, 145.37979465428117,
    )),
    (-121.544, -35.503, 3.0, INF, 0.0, (
        19.787885238757713, 15.99035042047543, 26.29145170038112, 0.6700049026677326, 3.9260399594902284, 5.097125389929254,
    )),
    (0.0121544, 0.0, 3.0, 500.0, 0.002, (
        15.71229659367668, 10.214916716631057, -15.7178269211462, 10.216114958948726, 8.947693576267477, 4.33262577121905,
    )),
    (671.864, 0.0, 3.0, 500.0, 0.002, (
        1453.5637578822634, 438.2213991798889, 1588.874136453684, -437.0112911122592, 131.07352681222036, -120.67032351308242,
    )),
    (24.0088, 53.2544, 3.0, 500.0, 0.002, (
        54.39138025906548, 12.926926850272537, -65.48751985561404, 14.50210326297277, 14.968997722540728, 3.0822044135886864,
    )),
    (0.0937842, -69.9408, 3.0, 500.0, 0.002, (
        -58.83331010043907, -3.2329817140037935, 58.79066569045238, -3.2686554039592535, 29.436416828802944, -33.66006701878821,
    )),
    (19.5553, -70.1183, 3.0, 500.0, 0.002, (
        -66.19100963487821, -1.0126343580105626, 58.262103468394756, -6.998424393222404, 24.43114988917847, -29.127249094560156,
    )),
    (240088.0, 1775.15, 3.0, 500.0, 0.002, (
        20227.83733883502, 568.5052867812275, -31831.525234300298, 175.6296785645945, 9.694944736520839, -0.18709790648283153,
    )),
    (19447100.0, 0.0, 3.0, 500.0, 0.002, (
        -47521.64116621615, 246.150283002167, -95202.83934309018, 260.4890068472331, -53.04062241667621, -343.475499218122,
    )),
    (-121.544, -35.503, 3.0, 500.0, 0.002, (
        18.234353697192446, 16.040437178443653, 25.457044621462032, -0.12283379855578781, 3.5166867192924998, 4.934628914282785,
    )),
    (0.0121544, 0.0, 3.0, 20.0, 0.05, (
        7.930749172543621, 5.156989546334083, -7.9362798181169625, 5.158187877922984, 5.659839196447033, 1.0448978233257102,
    )),
    (671.864, 0.0, 3.0, 20.0, 0.05, (
        36.472618807550944, 6.484599673729308, -97.85276378279156, -14.704683415192855, -4.673432067433661, -7.588564886371058,
    )),
    (24.0088, 53.2544, 3.0, 20.0, 0.05, (
        41.55489172775804, 5.261653348056386, -52.862856113318415, 5.8633522683201145, 6.995570653627124, -0.16493963607450138,
    )),
    (0.0937842, -69.9408, 3.0, 20.0, 0.05, (
        -45.081036515912125, 5.688577346109937, 45.03837216932913, 5.6855863758326635, 8.45446693724253, -1.0631815392632076,
    )),
    (19.5553, -70.1183, 3.0, 20.0, 0.05, (
        -51.03085844676785, 6.121260624783772, 42.44313541818618, 5.521405785613884, 8.24255410449079, -1.0807156049524684,
    )),
    (240088.0, 1775.15, 3.0, 20.0, 0.05, (
        1451748.308771131, 64.39903281169921, -1451852.2020352161, 64.80319242756465, 359.7002762298713, -406.6125490610331,
    )),
    (19447100.0, 0.0, 3.0, 20.0, 0.05, (
        5565.873003570431, 7.239425496004214, 17413.699691184775, 16.223835777273397, -433.3277618377487, 1762.033737500921,
    )),
    (-121.544, -8.87574, 3.0, 20.0, 0.05, (
        24.602344609674997, 9.6838358649751, 1.516439479678901, 1.070187602629649, 7.076358823874875, 0.48445828054693046,
    )),
    (121.544, 17751500.0, 3.0, INF, 0.0, (
        13663604.760688167, 5617.051309736349, -13663660.063245427, 5617.074030009827, 7299.877234588208, 2.3091558566714405,
    )),
    (19447100.0, 17751500.0, 3.0, INF, 0.0, (
        7182074.7364849085, 2954.821559391386, -17126391.39661188, 7040.588075426948, 7298.783275769687, 2.894356394170144,
    )),
    (12154400000.0, 0.0, 3.0, INF, 0.0, (
        -1688192922.4526703, -7155745.061867145, -1651736068.664527, 7157528.318521418, -30315.944623248994, 31015.979248946864,
    )),
    (1e-09, 1.77515e-06, 3.0, INF, 0.0, (
        16.385982521284298, 10.650887751417528, -16.3859825217393, 10.650887751516112, 9.230769538447246, 4.615384538472436,
    )),
    (937.842, 53.2544, 3+0.15000000000000002j, INF, 0.0, (
        (-642.7540290865679+42.29937176133873j),
        (-101.10058394954206+6.829227835613522j), (-561.424115455697+40.441397720753095j),
        (110.35360913924939-5.8104326818699255j), (-4.529761257655976+1.4334331471402806j),
        (21.630702414222977-0.7308956291391475j),
    )),
    (3602.82, -17.7515, 3+0.15000000000000002j, 500+25j, 0.002, (
        (1369.0493349652904+1387.2303956738829j),
        (327.8561926075598+248.18230403802403j), (-1846.0398462087076-1362.580886197673j),
        (320.0942260345809+242.8457382776609j), (71.2426947363639+44.7958048238066j),
        (55.37185778443198+43.24895953554448j),
    )),
]
# fmt: on


def sizes(omega2, plane):
    """Even and odd parts of the diagonal without their signs: what the entries are measured by, also where they vanish."""
    even, odd = even_and_odd(omega2, plane)
    size = np.sqrt([abs(even.force) + abs(odd.force), abs(even.moment) + abs(odd.moment)] * 2)
    return np.outer(size, size)


@pytest.mark.parametrize("omega2, tension, bending, shear, inertia, entries", HIGH_PRECISION)
def test_bending_is_right_to_rounding(omega2, tension, bending, shear, inertia, entries):
    plane = Plane(LENGTH, tension, MASS, bending, shear, inertia)
    a, b, c, d, e, f = entries
    expected = np.array([[a, b, c, d], [b, e, -d, f], [c, -d, a, -b], [d, f, -b, e]])
    error = np.abs(bending_stiffness(omega2, plane) - expected) / sizes(omega2, plane)
    assert error.max() < 2e-12


def planes(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        length, mass, bending = 10.0 ** rng.uniform([-2, -3, -6], [1, 2, 6])
        scale = bending / length**2
        shear = scale * 10.0 ** rng.uniform(1.3, 6) if rng.random() < 0.6 else INF
        tension = scale * rng.choice([0.0, -0.9 * np.pi**2, -30.0, -1e-7, 10.0 ** rng.uniform(-8, 6)])
        tension = max(tension, -0.5 * shear)
        inertia = mass * bending / shear * 10.0 ** rng.uniform(-2, 1)
        rate = bending / (mass * length**4)
        yield Plane(length, tension, mass, bending, shear, inertia), rate * 10.0 ** rng.uniform(-6, 7), rng.random()


def test_two_halves_make_the_whole():
    for plane, omega2, choice in planes(1, 400):
        if choice < 0.3:
            plane = plane._replace(bending=plane.bending * (1 + 0.03j), shear=plane.shear * (1 + 0.03j))
            plane = plane._replace(shear=INF) if np.isnan(plane.shear) else plane
        omega2 = -omega2 if choice > 0.8 else omega2
        half = bending_stiffness(omega2, plane._replace(length=plane.length / 2))
        both = np.zeros((6, 6), dtype=half.dtype)
        both[:4, :4] += half
        both[2:, 2:] += half
        inner, ends = both[2:4, 2:4], [0, 1, 4, 5]
        through = both[np.ix_(ends, [2, 3])]
        # equilibrated, because deflections and rotations have different units
        s = 1.0 / np.sqrt(np.abs(np.diag(inner)))
        middle = np.linalg.inv(inner * np.outer(s, s)) * np.outer(s, s)
        expected = both[np.ix_(ends, ends)] - through @ middle @ through.T
        # what is lost where the halves nearly resonate
        lost = np.abs(through) @ np.abs(middle) @ np.abs(through.T) + np.abs(both[np.ix_(ends, ends)])
        worst = np.sqrt(np.outer(np.diag(lost), np.diag(lost))).real + sizes(omega2, plane)
        condition = np.linalg.cond(inner * np.outer(s, s))
        assert (np.abs(bending_stiffness(omega2, plane) - expected) / worst).max() < 1e-11 * condition, plane


def test_statics_and_inertia_at_rest():
    plane = Plane(2.0, 0.0, 3.0, 5.0, INF, 0.0)
    length, ei = plane.length, plane.bending
    hermite = ei / length**3 * np.array([
        [12, 6 * length, -12, 6 * length],
        [6 * length, 4 * length**2, -6 * length, 2 * length**2],
        [-12, -6 * length, 12, -6 * length],
        [6 * length, 2 * length**2, -6 * length, 4 * length**2],
    ])  # fmt: skip
    np.testing.assert_allclose(bending_stiffness(0.0, plane), hermite, rtol=1e-14)
    h = 1e-3
    inertia = (bending_stiffness(-h, plane) - bending_stiffness(h, plane)) / (2 * h)
    rigid = np.array([[1, 0, 1, 0], [-length / 2, 1, length / 2, 1]])
    # its mass, and its moment of inertia about the middle
    np.testing.assert_allclose(rigid @ inertia @ rigid.T, np.diag([6.0, 6.0 * length**2 / 12]), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bar_stiffness(0.0, 2.0, 7.0, 1.0), [[3.5, -3.5], [-3.5, 3.5]])


def test_bars_have_the_closed_form():
    for waves in (1e-9, 0.3, 1.6, 40.0, 500.0):
        k = waves / 2.0
        expected = (
            7.0 * k * np.array([[1 / np.tan(waves), -1 / np.sin(waves)], [-1 / np.sin(waves), 1 / np.tan(waves)]])
        )
        np.testing.assert_allclose(bar_stiffness(7.0 * k**2 / 0.4, 2.0, 7.0, 0.4), expected, rtol=1e-11)
    fading = 7.0 * np.array([[1 / np.tanh(2.0), -1 / np.sinh(2.0)], [-1 / np.sinh(2.0), 1 / np.tanh(2.0)]])
    np.testing.assert_allclose(bar_stiffness(-7.0 / 0.4, 2.0, 7.0, 0.4), fading, rtol=1e-14)
    assert np.all(np.isfinite(bar_stiffness(-1e12, 2.0, 7.0, 0.4)))


MEMBER = UniformMember(1.5, 4e6, 30.0, 50.0, 90.0, 2e5, 3e5, 40.0, 0.8, 2e-4, 8e-5, 9e-5)


def test_the_member_puts_each_motion_in_its_place():
    d = dynamic_stiffness(900.0, MEMBER)
    assert d.shape == (12, 12)
    assert d.dtype == float
    np.testing.assert_allclose(d, d.T, rtol=1e-13, atol=1e-13 * np.abs(d).max())
    along_y, along_z = (bending_stiffness(900.0, p) for p in MEMBER.planes)
    np.testing.assert_array_equal(d[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], along_y)
    turned = np.diag([1, -1, 1, -1])
    np.testing.assert_array_equal(d[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])], turned @ along_z @ turned)
    assert MEMBER.planes[0].bending == 90.0
    assert MEMBER.planes[1].shear == 3e5
    assert np.count_nonzero(d) == 4 + 4 + 16 + 16
    # a turn of the whole member about y takes its end 1 towards -z, which only the tension resists
    turn = np.zeros(12)
    turn[[4, 10]], turn[[2, 8]] = 1.0, [0.75, -0.75]
    np.testing.assert_allclose(turn @ dynamic_stiffness(0.0, MEMBER) @ turn, 40.0 * 1.5, rtol=1e-11)


def test_loss_scales_the_elastic_and_leaves_tension_alone():
    lossy = MEMBER.with_loss({"axial": 0.1, "bending_y": 0.2, "shear": 0.3})
    assert lossy.axial == 4e6 * (1 + 0.1j)
    assert lossy.bending_y == 50.0 * (1 + 0.2j)
    assert lossy.bending_z == 90.0
    assert (lossy.shear_y, lossy.shear_z) == (2e5 * (1 + 0.3j), 3e5 * (1 + 0.3j))
    assert lossy.tension == 40.0
    assert MEMBER.with_loss({}) is MEMBER
    thin = UniformMember(1.5, 4e6, 30.0, 50.0, 90.0, INF, INF, 40.0, 0.8, 2e-4, 0.0, 0.0)
    assert thin.with_loss({"shear": 0.1}) == thin
    d = dynamic_stiffness(900.0, lossy)
    assert d.dtype == complex
    assert np.all(np.isfinite(d))


# -- clamped natural frequencies --------------------------------------------------------------------------------------
def ritz_values(plane: Plane, terms: int) -> np.ndarray:
    """Clamped natural frequencies squared in one plane, by polynomials that vanish at the ends."""
    h = plane.length / 2
    x, weight = np.polynomial.legendre.leggauss(2 * terms + 6)
    bump = Polynomial([1, 0, -1])
    rigid = np.isinf(plane.shear)
    shapes = [
        (bump**2 if rigid else bump) * Polynomial(np.polynomial.legendre.leg2poly([0] * k + [1])) for k in range(terms)
    ]
    w, dw, ddw = (np.array([s.deriv(k)(x) for s in shapes]) / h**k for k in range(3))

    def gram(a, b):
        return (a * weight * h) @ b.T

    if rigid:
        stiffness = plane.bending * gram(ddw, ddw) + plane.tension * gram(dw, dw)
        mass = plane.mass * gram(w, w)
    else:
        s = plane.shear
        stiffness = np.block([
            [(s + plane.tension) * gram(dw, dw), -s * gram(dw, w)],
            [-s * gram(w, dw), plane.bending * gram(dw, dw) + s * gram(w, w)],
        ])  # fmt: skip
        mass = sl.block_diag(plane.mass * gram(w, w), plane.inertia * gram(w, w))
    return sl.eigh(stiffness, mass, eigvals_only=True)


def member_of(plane: Plane) -> UniformMember:
    """A member in whose other motions nothing lies below the frequencies of this test."""
    return UniformMember(
        plane.length,
        1e30,
        1e30,
        plane.bending,
        1e30,
        INF,
        plane.shear,
        plane.tension,
        plane.mass,
        plane.mass,
        plane.inertia,
        0.0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_clamped_count_is_that_of_a_ritz_method(seed):
    for plane, _, _ in planes(10 + seed, 12):
        if plane.tension * plane.length**2 > 1e3 * plane.bending:
            continue  # boundary layers that polynomials do not resolve
        values = ritz_values(plane, 26)[:12]
        edges = [
            values[0] - abs(values[0]),
            *(0.5 * (values[1:] + values[:-1])),
            *(values * (1 + 1e-5)),
            *(values * (1 - 1e-5)),
        ]
        for omega2 in edges:
            expected = np.count_nonzero(values < omega2)
            if np.min(np.abs(omega2 / values - 1)) > 1e-6:
                assert clamped_count(omega2, member_of(plane)) == expected, (plane, omega2)


def test_the_clamped_count_of_strings_and_bars():
    # a string of T L^2/EI = 1e7, up to its hundredth tone; P. M. Morse, Vibration and Sound (1948), section 16
    length, mass, tension, ei = 0.9, 1e-3, 50.0, 50.0 * 0.9**2 / 1e7
    string = UniformMember(length, 1e20, 1e20, ei, ei, INF, INF, tension, mass, 1.0, 0.0, 0.0)
    for n in (1, 2, 17, 100):
        e = np.sqrt(ei / tension) / length
        tone = n * np.pi / length * np.sqrt(tension / mass) * (1 + 2 * e + (4 + (n * np.pi) ** 2 / 2) * e**2)
        assert clamped_count((tone * (1 - 1e-5)) ** 2, string) == 2 * (n - 1)
        assert clamped_count((tone * (1 + 1e-5)) ** 2, string) == 2 * n
    rod = UniformMember(2.0, 8.0, 18.0, 1e30, 1e30, INF, INF, 0.0, 2.0, 2.0, 0.0, 0.0)
    # waves at 2 m/s and 3 m/s: tones at n pi and 1.5 n pi rad/s
    for omega, expected in ((3.0, 0), (3.2, 1), (4.8, 2), (9.3, 3), (9.5, 5)):
        assert clamped_count(omega**2, rod) == expected
    assert clamped_count(0.0, rod) == clamped_count(-1e9, rod) == 0


def test_a_column_beyond_its_load_has_growing_clamped_motions():
    column = UniformMember(1.0, 1e9, 1e9, 2.0, 3.0, INF, INF, -1.02 * 4 * np.pi**2 * 2.0, 1.0, 1.0, 0.0, 0.0)
    assert clamped_count(0.0, column) == 1
    assert clamped_count(-1e6, column) == 0
    plane = column.planes[1]
    values = ritz_values(plane, 20)
    assert values[0] < 0 < values[1]
    assert clamped_count(values[0] * 1.0001, column) == 0
    assert clamped_count(values[0] * 0.9999, column) == 1
