"""Schemes of viscosity for comparison: decay of single waves, rigid motions, linear profiles, and their sub-steps."""

import numpy as np
import pytest

from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.viscosity import viscous
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import HalfSpace
from paddlewheel.types import AXES, Faces, Grid

SLIP = dict.fromkeys([s + a for a in AXES for s in "-+"], "free-slip")
DT = 0.01
FACTORS = {  # by which a wave without divergence decays, by z = νΔtΛ of it and the sub-steps n
    "explicit": lambda z, n: (1 - z / n) ** n,
    "imex": lambda z, n: (1 + z / n) ** -n,
    "decoupled": lambda z, n: 1 / (1 + z),
    "variational": lambda z, n: 1 / (1 + z),
}


def rubbed(grid, velocity, phi, kappa, scheme, boundary=None, **more):
    """What a scheme does with νΔt/h² = kappa."""
    given = {"walls": SLIP, "tolerance": 1e-9} | more
    boundary = measure(grid, []) if boundary is None else boundary
    return viscous(
        grid, velocity, phi, boundary, DT, density=1.0, viscosity=kappa * grid.h**2 / DT, scheme=scheme, **given
    )


def field(grid, f):
    """f(points) -> (…, 3) on the faces."""
    return Faces(*(f(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def change(before, after):
    return max(np.abs(b - a).max() for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("kappa", [0.05, 0.3, 3.5])
@pytest.mark.parametrize("scheme", FACTORS)
def test_a_wave_decays_by_the_factor_of_the_scheme(scheme, kappa, plane):
    n = 12
    grid = Grid((n, n, 1 if plane else n), 1 / n)
    k = np.pi * np.array([1, 2, 0 if plane else 1])
    rise = np.sin(0.5 * k * grid.h)

    def wave(p):
        x, y, z = np.moveaxis(p, -1, 0) * k[:, None, None, None]
        u, v = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z) * rise[0] / rise[1]
        return np.stack([u, v, 0 * u], axis=-1)  # without divergence on the grid

    u = field(grid, wave)
    out, _, _, info = rubbed(grid, u, np.full(grid.shape, -1.0, np.float32), kappa, scheme)
    factor = FACTORS[scheme](4 * kappa * np.sum(rise**2), info.substeps)
    expected = {"explicit": (8 if plane else 12) * kappa, "imex": (4 if plane else 6) * kappa}.get(scheme, 1)
    assert info.converged
    assert info.substeps == pytest.approx(max(1, expected), abs=1)
    assert change(Faces(*(factor * a for a in u)), out) < 2e-7


@pytest.mark.parametrize(("plane", "surface"), [(True, "nichols-hirt"), (True, "natural"), (False, "natural")])
@pytest.mark.parametrize("scheme", ["variational", "imex", "explicit"])
def test_a_free_blob_keeps_turning(scheme, plane, surface):
    grid = Grid((22, 21, 1 if plane else 23), 0.05)
    centre = np.array([0.56, 0.53, 0.025 if plane else 0.57])
    omega = np.array([0, 0, 1.3] if plane else [0.7, -1.1, 0.4])
    u = field(grid, lambda p: np.array([0.3, 0.1, 0.0]) + np.cross(omega, p - centre))
    if plane:
        u.z[:] = 0
    away = (grid.cell_points() - centre)[..., : 2 if plane else 3]
    phi = (np.linalg.norm(away, axis=-1) - 0.33).astype(np.float32)
    out, _, _, info = rubbed(grid, u, phi, 10.0, scheme, surface=surface, tolerance=1e-6)
    assert info.converged
    assert change(u, out) < 2e-6


@pytest.mark.parametrize("scheme", ["variational", "imex", "explicit"])
def test_momentum_of_a_free_blob_is_kept_with_whole_cells(scheme):
    """Whole cells have no part of a face's mass, so it is that of all faces beside the blob."""
    grid, rng = Grid((16, 17, 1), 0.1), np.random.default_rng(2)
    u = Faces(*(rng.standard_normal(s.shape).astype(np.float32) for s in grid.zeros_faces()))
    phi = (np.linalg.norm((grid.cell_points() - [0.8, 0.85, 0])[..., :2], axis=-1) - 0.5).astype(np.float32)
    out, known, _, info = rubbed(grid, u, phi, 2.0, scheme, surface="nichols-hirt")
    assert info.converged
    for a in range(2):
        before, after = (v[a][known[a]].astype(float) for v in (u, out))
        assert len(after) > 80
        assert after.sum() == pytest.approx(before.sum(), abs=1e-5)
        assert np.abs(after).max() < np.abs(before).max()


@pytest.mark.parametrize("at", [0.21, 0.25, 0.27])
@pytest.mark.parametrize("scheme", ["imex", "explicit"])
def test_a_linear_profile_between_plates_stays(scheme, at):
    n = 16  # at the ends nothing pulls the liquid; in one step that is not felt far away
    grid = Grid((4 * n, n, 1), 1 / n)
    low, high = at, 0.83
    plates = [
        Solid(HalfSpace((0, low, 0), (0, 1, 0)), lambda t: Pose(velocity=(0.4, 0, 0))),
        Solid(HalfSpace((0, high, 0), (0, -1, 0)), lambda t: Pose(velocity=(-1.0, 0, 0))),
    ]
    boundary = measure(grid, plates, open_sides={"-x", "+x"})
    x, y, _ = np.moveaxis(grid.face_points(0), -1, 0)
    u = grid.zeros_faces()
    u.x[:] = 0.4 - 1.4 * (y - low) / (high - low)
    walls = {side: how for side, how in SLIP.items() if side[1] != "x"}
    out, _, _, info = rubbed(grid, u, np.full(grid.shape, -1.0, np.float32), 0.5, scheme, boundary, walls=walls)
    inside = (y > low) & (y < high) & (np.abs(x - 2) < 0.3)
    assert info.converged
    assert info.substeps > 1
    assert np.abs(out.x - u.x)[inside].max() < 2e-6


@pytest.mark.parametrize("surface", ["neumann", "extrapolated"])
def test_decoupled_components_do_not_know_of_each_other(surface):
    grid, rng = Grid((16, 17, 1), 0.1), np.random.default_rng(2)
    u = Faces(*(rng.standard_normal(s.shape).astype(np.float32) for s in grid.zeros_faces()))
    phi = (np.linalg.norm((grid.cell_points() - [0.8, 0.85, 0])[..., :2], axis=-1) - 0.5).astype(np.float32)
    alone = u._replace(y=0 * u.y)
    both, one = (rubbed(grid, v, phi, 2.0, "decoupled", surface=surface).velocity.x for v in (u, alone))
    assert np.abs(both - one).max() < 1e-6
    assert np.abs(both - u.x).max() > 0.1


@pytest.mark.parametrize("scheme", ["imex", "explicit"])
def test_what_needs_too_many_sub_steps_is_refused(scheme):
    grid = Grid((8, 8, 1), 0.1)
    with pytest.raises(ValueError, match=rf"viscosity='{scheme}' needs .* sub-steps here, and takes 10000 at most"):
        rubbed(grid, grid.zeros_faces(), np.full(grid.shape, -1.0, np.float32), 1e5, scheme)
