"""Viscosity against what can be known exactly: rigid motions, momentum, single waves and linear profiles."""

import numpy as np
import pytest

from paddlewheel.grid.octants import liquid_octants
from paddlewheel.items import RigidBody, Solid
from paddlewheel.measure import measure
from paddlewheel.physics.viscosity import RigidBodies, viscous
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.types import AXES, Faces, Grid

DENSITY = 900.0
SLIP = dict.fromkeys([s + a for a in AXES for s in "-+"], "free-slip")
STICK = dict.fromkeys(SLIP, "no-slip")


def points(grid):
    return [grid.face_points(a) for a in range(3)]


def field(grid, f):
    """f(points) -> (…, 3) on the faces."""
    u = Faces(*(f(p)[..., a].astype(np.float32) for a, p in enumerate(points(grid))))
    if grid.is_2d:
        u.z[:] = 0
    return u


def turning(grid, omega, centre, drift=(0.0, 0.0, 0.0)):
    return field(grid, lambda p: np.asarray(drift) + np.cross(omega, p - centre))


def ball(grid, centre, radius):
    return (np.linalg.norm(grid.cell_points() - centre, axis=-1) - radius).astype(np.float32)


def disc(grid, centre, radius):
    return (np.linalg.norm((grid.cell_points() - centre)[..., :2], axis=-1) - radius).astype(np.float32)


def nothing(grid):
    return measure(grid, [])


@pytest.mark.parametrize("kappa", [1.0, 1e3, 1e6, 1e9, 1e11])
@pytest.mark.parametrize("plane", [False, True])
def test_what_turns_keeps_turning(plane, kappa):
    """Also where rounding alone leaves more of the residual than the tolerance, as of the last two."""
    grid = Grid((30, 28, 1) if plane else (20, 22, 24), 0.05)
    centre = np.array([0.76, 0.7, 0.025] if plane else [0.51, 0.55, 0.6])
    phi = disc(grid, centre, 0.42) if plane else ball(grid, centre, 0.33)
    turn, drift = ((0, 0, 1.3), (0.3, 0.1, 0)) if plane else ((0.7, -1.1, 0.4), (0.3, 0.1, -0.2))
    u = turning(grid, turn, centre, drift)
    out, _, _, info = viscous(
        grid, u, phi, nothing(grid), 0.01,
        density=DENSITY, viscosity=kappa * DENSITY * grid.h**2 / 0.01, walls=SLIP, tolerance=1e-6,
    )  # fmt: skip
    assert info.converged
    for before, after in zip(u, out, strict=True):
        assert np.abs(after - before).max() < 2e-6


@pytest.mark.parametrize("kappa", [1e2, 1e4, 1e6])
def test_a_rough_velocity_takes_no_more_iterations(kappa):
    """It is smooth at once if κ is large, so that it would be a bad start: from all of it they are 5, 7 and 8."""
    grid, random = Grid((24, 24, 24), 1 / 24), np.random.default_rng(1)
    phi = ball(grid, (0.51, 0.47, 0.5), 0.24)
    u = Faces(*(random.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    found = [
        viscous(
            grid, u, phi, nothing(grid), 1.0,
            density=1.0, viscosity=kappa * grid.h**2, walls=SLIP, tolerance=tolerance,
        )
        for tolerance in (1e-4, 1e-9)
    ]  # fmt: skip
    assert found[0].info.iterations <= 4
    for loose, exact, known in zip(*(rubbed.velocity for rubbed in found), found[1].known, strict=True):
        assert np.abs(loose - exact)[known].max() < 1e-5


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("kappa", [0.3, 1e2, 1e5])
def test_a_wave_between_slipping_walls_decays_by_the_exact_factor(kappa, plane):
    n = 16
    grid = Grid((n, n, 1 if plane else n), 1 / n)
    k = np.pi * np.array([1, 2, 0 if plane else 1])

    def wave(p):
        x, y, z = np.moveaxis(p, -1, 0)
        c = np.cos(k[2] * z) if not plane else 1.0
        u = np.sin(k[0] * x) * np.cos(k[1] * y) * c
        v = -np.cos(k[0] * x) * np.sin(k[1] * y) * c * np.sin(0.5 * k[0] * grid.h) / np.sin(0.5 * k[1] * grid.h)
        return np.stack([u, v, 0 * u], axis=-1)  # without divergence on the grid

    u = field(grid, wave)
    phi = np.full(grid.shape, -1.0, np.float32)
    nu, dt = kappa * grid.h**2 / 0.01, 0.01
    out, _, _, info = viscous(
        grid, u, phi, nothing(grid), dt, density=DENSITY, viscosity=nu * DENSITY, walls=SLIP, tolerance=1e-9
    )
    eigen = 4 / grid.h**2 * np.sum(np.sin(0.5 * k * grid.h) ** 2)
    factor = 1 / (1 + nu * dt * eigen)
    assert info.converged
    for before, after in zip(u, out, strict=True):
        assert np.abs(after - factor * before).max() < 1e-6 * factor


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("at", [0.21, 0.25, 0.27])
def test_between_plates_the_profile_is_linear(at, plane):
    n = 16  # cells in a metre; at the ends nothing pulls the liquid, which is felt as far as e^(−π x/H)
    grid = Grid((6 * n, n, 1 if plane else 3), 1 / n)
    low, high = at, 0.83
    plates = [
        Solid(HalfSpace((0, low, 0), (0, 1, 0)), lambda t: Pose(velocity=(0.4, 0, 0))),
        Solid(HalfSpace((0, high, 0), (0, -1, 0)), lambda t: Pose(velocity=(-1.0, 0, 0))),
    ]
    boundary = measure(grid, plates, open_sides={"-x", "+x"})
    out, _, _, info = viscous(
        grid, grid.zeros_faces(), np.full(grid.shape, -1.0, np.float32), boundary, 1.0,
        density=1.0, viscosity=1e7 * grid.h**2, tolerance=1e-8,
        walls={side: how for side, how in SLIP.items() if side[1] != "x"},
    )  # fmt: skip
    x, y, _ = np.moveaxis(grid.face_points(0), -1, 0)
    inside = (y > low) & (y < high) & (np.abs(x - 3) < 0.2)
    assert info.converged
    assert np.abs(out.x - (0.4 - 1.4 * (y - low) / (high - low)))[inside].max() < 2e-5


def body_in_ball(plane, kappa, shape, motion, velocity):
    """A body of twice the liquid's density inside a free blob, of which all moves by `velocity`, it by `motion`."""
    n = 20
    grid = Grid((n + 2, n, 1 if plane else n), 1 / n)
    centre = np.array([0.53, 0.49, 0.5 / n if plane else 0.51])
    boundary = measure(grid, [RigidBody(shape(centre), density=2 * DENSITY)])
    phi = (disc if plane else ball)(grid, centre, 0.37)
    volume = 0.15**2 * np.pi / n if plane else 4 / 3 * np.pi * 0.15**3
    mass = np.diag([1.0] * 3 + [0.4 * 0.15**2] * 3) * 2 * DENSITY * volume
    inverse = np.linalg.inv(mass)
    if plane:
        inverse[[2, 3, 4]] = 0.0
    bodies = RigidBodies(centre[None], np.array([motion], float), inverse[None])
    rubbed = viscous(
        grid, field(grid, velocity(centre)), phi, boundary, 0.01,
        density=DENSITY, viscosity=kappa * DENSITY * grid.h**2 / 0.01, walls=SLIP, bodies=bodies,
        tolerance=1e-9 if kappa < 1e5 else 1e-7,
    )  # fmt: skip
    assert rubbed.info.converged
    return grid, centre, boundary, phi, mass, rubbed


SHAPES = {
    "sphere": lambda c: Sphere(tuple(c), 0.15),
    "box": lambda c: Box(tuple(c - 0.11), tuple(c + np.array([0.13, 0.09, 0.1]))),
}


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("kappa", [1.0, 1e4])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_that_turns_with_the_liquid_feels_nothing(shape, kappa, plane):
    """Nor does the liquid: also on faces in the body, which particles beside it look at, velocity is that of both."""
    turn, drift = np.array([0, 0, 1.3] if plane else [0.7, -1.1, 0.4]), np.array([0.3, 0.1, 0.0 if plane else -0.2])
    grid, centre, _, _, _, rubbed = body_in_ball(
        plane, kappa, SHAPES[shape], [*drift, *turn], lambda c: lambda p: drift + np.cross(turn, p - c)
    )
    before = turning(grid, turn, centre, drift)
    for a in range(2 if plane else 3):
        near = np.linalg.norm(grid.face_points(a) - centre, axis=-1) < 0.4  # not at the sides
        assert np.abs(rubbed.velocity[a] - before[a])[rubbed.known[a] & near].max() < 3e-6
    assert np.allclose(rubbed.motion, [[*drift, *turn]], atol=3e-6)


@pytest.mark.parametrize("plane", [False, True])
def test_a_stiff_blob_and_its_body_come_to_move_as_one(plane):
    """Infinitely viscous, all has the velocity at which momentum is kept: that of the body, shared by the masses."""
    grid, centre, _, phi, mass, rubbed = body_in_ball(
        plane, 1e6, SHAPES["sphere"], [1.0, 0, 0, 0, 0, 0], lambda c: lambda p: np.zeros(p.shape)
    )
    octants = liquid_octants(phi)
    inside = box_volume(octants) * grid.h**3 * DENSITY
    # the liquid's mass on faces that are not in the body
    held = Faces(*(d <= 0 for d in face_distances(grid, centre)))
    liquid = sum_of_faces(octants, 0, held[0]) * grid.h**3 * DENSITY
    assert liquid < inside
    shared = mass[0, 0] / (mass[0, 0] + liquid)
    assert rubbed.motion[0, 0] == pytest.approx(shared, rel=5e-3)
    assert np.abs(rubbed.motion[0, 3:]).max() < 0.2  # the blob is a little beside its body's centre


def face_distances(grid, centre):
    return [
        np.linalg.norm((grid.face_points(a) - centre)[..., : 2 if grid.is_2d else 3], axis=-1) - 0.15 for a in range(3)
    ]


def box_volume(octants):
    return octants.sum(dtype=float) / 8


def sum_of_faces(octants, axis, without):
    """Volumes around the faces of an axis [cells], summed but for some."""
    pad = [(1, 1) if a == axis else (0, 0) for a in range(3)]
    v = np.pad(octants.astype(float), pad)
    for a in range(3):
        v = np.moveaxis(v, a, 0)
        v = np.moveaxis(0.5 * (v[::2] + v[1::2]), 0, a)
    return v[~without].sum()


@pytest.mark.parametrize(("kappa", "most"), [(1.0, 15), (1e2, 26), (1e4, 36), (1e6, 80)])
def test_solids_that_let_slip_take_more_iterations(kappa, most):
    """Motion along them costs nothing, motion into them as much as a strain; the multigrid does not know of it."""
    grid, random = Grid((24, 24, 24), 1 / 24), np.random.default_rng(1)
    phi = (grid.cell_points()[..., 1] - 0.7).astype(np.float32)
    u = Faces(*(random.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    rubbed = viscous(
        grid, u, phi, measure(grid, [Solid(HalfSpace((0.5, 0.2, 0.5), (0.2, 0.95, 0.1)))]), 1.0,
        density=1.0, viscosity=kappa * grid.h**2, walls=SLIP, solids="free-slip", tolerance=1e-4,
    )  # fmt: skip
    assert rubbed.info.converged
    assert rubbed.info.iterations <= most
