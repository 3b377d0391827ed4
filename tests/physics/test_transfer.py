"""Particles to grid and back: transposes, linear fields, momentum, and the order of particles."""

import os
import subprocess
import sys

import numpy as np
import pytest

from paddlewheel.physics.transfer import density, sorted_by_cell, to_faces, to_particles
from paddlewheel.types import Faces, Grid, Particles

GRIDS = {"3-D": Grid((7, 5, 6), 0.1), "2-D": Grid((9, 8, 1), 0.25), "long rows": Grid((3, 2, 70), 0.1)}
SKEW = np.array([[0.5, -1.0, 0.25], [2.0, 0.75, -0.5], [-0.25, 1.5, 1.0]])


@pytest.fixture(params=GRIDS, ids=list(GRIDS))
def grid(request):
    return GRIDS[request.param]


def scattered(grid, n=500, margin=0.0, affine=False, seed=0):
    """Random particles in the domain but for a margin [cells], or up to as far outside it if that is negative."""
    rng = np.random.default_rng(seed)
    low, high = margin * grid.h, np.array(grid.size) - margin * grid.h
    particles = Particles.at(rng.uniform(low, high, (n, 3)), rng.standard_normal((n, 3)), affine)
    particles.affine[:] = rng.standard_normal(particles.affine.shape)
    return particles


def random_faces(grid, seed=1):
    rng = np.random.default_rng(seed)
    return Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))


def hats(grid, position, axis=None):
    """w_f(x_p) in float64, shape (n, *faces): of faces, clamped to the outermost ones; of cells, not clamped."""
    shape = grid.shape if axis is None else grid.face_shape(axis)
    out = np.ones((len(position), 1, 1, 1))
    for d in range(3):
        samples = np.arange(shape[d]) + 0.5 * (d != axis)
        x = position[:, d].astype(float) / grid.h
        if axis is not None:
            x = np.clip(x, samples[0], samples[-1])
        w = np.maximum(1 - np.abs(x[:, None] - samples), 0)
        out = out * w.reshape(-1, *(shape[d] if e == d else 1 for e in range(3)))
    return out


def cells_of(grid, position):
    index = np.clip(np.floor(position.astype(float) * (1 / grid.h)).astype(int), 0, np.array(grid.shape) - 1)
    return np.ravel_multi_index(index.T, grid.shape)


def affine_velocity(points):
    return np.array([0.3, -0.2, 0.7]) + points @ SKEW.T


def copied(particles):
    return Particles(*(array.copy() for array in particles))


# ---- order


@pytest.mark.parametrize("affine", [False, True])
def test_sort_is_complete_and_stable(grid, affine):
    """Against NumPy's stable sort, also for particles outside the domain."""
    particles = scattered(grid, 3000, margin=-1.5, affine=affine)
    out, first = sorted_by_cell(grid, copied(particles))
    cell = cells_of(grid, particles.position)
    order = np.argsort(cell, kind="stable")
    assert first.dtype == np.int32
    assert np.array_equal(first, np.searchsorted(cell[order], np.arange(np.prod(grid.shape) + 1)))
    assert all(np.array_equal(a, b) for a, b in zip(out, particles.take(order), strict=True))
    again, _ = sorted_by_cell(grid, copied(out))
    assert all(np.array_equal(a, b) for a, b in zip(again, out, strict=True))


def test_sort_of_many_particles_in_many_buckets():
    grid = Grid((40, 50, 60), 0.1)
    particles = scattered(grid, 50_000)
    out, first = sorted_by_cell(grid, copied(particles))
    order = np.argsort(cells_of(grid, particles.position), kind="stable")
    assert np.array_equal(out.position, particles.position[order])
    assert np.array_equal(np.diff(first), np.bincount(cells_of(grid, particles.position), minlength=120_000))


def test_particles_far_away_are_in_the_nearest_cell():
    grid = Grid((3, 3, 3), 1.0)
    position = [[1e30, -1e30, 1.5], [np.inf, -np.inf, 0.5], [3.0, 3.0, 3.0]]
    _, first = sorted_by_cell(grid, Particles.at(position, 0.0))
    assert np.array_equal(np.nonzero(np.diff(first))[0], [18, 19, 26])


# ---- faces


def test_weights_and_velocity_are_sums_of_hats(grid):
    """Also of particles on the walls and outside."""
    particles, first = sorted_by_cell(grid, scattered(grid, margin=-0.75))
    velocity, weight = to_faces(grid, particles, first)
    for a in range(3):
        w = hats(grid, particles.position, a)
        total = np.einsum("p...,p->...", w, particles.velocity[:, a].astype(float))
        assert weight[a] == pytest.approx(w.sum(0), rel=1e-4, abs=1e-5)
        assert velocity[a] * weight[a] == pytest.approx(total, rel=1e-4, abs=1e-4)
        assert velocity[a].dtype == weight[a].dtype == np.float32


def test_scatter_is_the_transpose_of_gather(grid):
    """⟨Wᵀ v, u⟩ = ⟨v, W u⟩ for each component, walls included."""
    particles, first = sorted_by_cell(grid, scattered(grid, margin=-0.75))
    u = random_faces(grid)
    velocity, weight = to_faces(grid, particles, first)
    v = particles.velocity.astype(float)
    gathered = to_particles(grid, particles._replace(velocity=np.zeros_like(particles.velocity)), u).velocity
    for a in range(3):
        left = np.vdot((weight[a] * velocity[a]).astype(float), u[a])
        assert left == pytest.approx(np.vdot(v[:, a], gathered[:, a]), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("affine", [False, True])
def test_constant_velocity_is_exact_everywhere(grid, affine):
    particles = scattered(grid, 4000, margin=-0.5, affine=affine)
    particles.velocity[:] = constant = np.array([0.3, -1.1, 2.7], np.float32)
    particles.affine[:] = 0
    particles, first = sorted_by_cell(grid, particles)
    velocity, weight = to_faces(grid, particles, first)
    for a in range(3):
        assert np.all(weight[a] > 0)
        assert velocity[a] == pytest.approx(constant[a], rel=1e-6)
        velocity[a][...] = constant[a]
    assert np.all(to_particles(grid, particles, velocity).velocity == constant)


def test_faces_far_from_particles_are_zero():
    grid = Grid((8, 8, 8), 1.0)
    particles, first = sorted_by_cell(grid, Particles.at([[4.2, 4.6, 4.5]], 2.5))
    velocity, weight = to_faces(grid, particles, first)
    for a in range(3):
        reached = hats(grid, particles.position, a)[0] > 0
        assert np.array_equal(weight[a] > 0, reached)
        assert np.array_equal(velocity[a] == np.float32(2.5), reached)
        assert np.array_equal(velocity[a] == 0, ~reached)


def test_a_face_that_a_particle_barely_reaches_has_its_velocity():
    """Weights may be as small as the cube of a rounding error, or underflow, but then count as none."""
    grid = Grid((4, 4, 4), 1.0)
    for tiny in (1e-7, 1e-11, 1e-13, 1e-20, 1e-40):
        particles, first = sorted_by_cell(grid, Particles.at([[tiny, 0.5 + tiny, 0.5 + tiny]], 3.0))
        for u, w in zip(*to_faces(grid, particles, first), strict=True):
            assert u[w > 0] == pytest.approx(3.0, rel=1e-5)
            assert np.all(u[w == 0] == 0)


# ---- back to particles


@pytest.mark.parametrize("in_order", [False, True], ids=["in any order", "in order"])
@pytest.mark.parametrize("flip", [0.0, 0.5, 1.0])
def test_blend_of_flip_and_pic(grid, flip, in_order):
    particles, first = scattered(grid, margin=-0.75), None
    if in_order:
        particles, first = sorted_by_cell(grid, particles)
    before = particles.velocity.astype(float)
    new, old = random_faces(grid, 1), random_faces(grid, 2)
    out = to_particles(grid, particles, new, old, flip, first)
    assert np.shares_memory(out.velocity, particles.velocity)
    for a in range(3):
        w = hats(grid, particles.position, a)
        at = [np.einsum("pijk,ijk->p", w, u[a].astype(float)) for u in (new, old)]
        assert out.velocity[:, a] == pytest.approx(at[0] + flip * (before[:, a] - at[1]), abs=1e-5)


def test_flip_with_nothing_new_changes_nothing(grid):
    particles = scattered(grid)
    before, u = particles.velocity.copy(), random_faces(grid)
    assert to_particles(grid, particles, u, u, 1.0).velocity == pytest.approx(before, abs=1e-6)


# ---- APIC


def test_apic_keeps_linear_velocity_fields():
    """Faces have it exactly, walls included, and particles get it back where no hat is cut off by a wall."""
    for grid in (GRIDS["3-D"], GRIDS["2-D"]):
        particles = scattered(grid, 3000, affine=True)
        particles.velocity[:] = affine_velocity(particles.position)
        particles.affine[:] = SKEW
        particles, first = sorted_by_cell(grid, particles)
        velocity, weight = to_faces(grid, particles, first)
        for a in range(3):
            exact = affine_velocity(grid.face_points(a))[..., a]
            assert velocity[a][weight[a] > 0] == pytest.approx(exact[weight[a] > 0], abs=2e-5)
        out = to_particles(grid, particles._replace(velocity=0 * particles.velocity), velocity)
        x = out.position / grid.h
        inside = np.all((x > 0.5) & (x < np.array(grid.shape) - 0.5), axis=1, where=[True, True, not grid.is_2d])
        assert inside.sum() > 500
        n = 2 if grid.is_2d else 3
        in_plane = affine_velocity(np.where([True, True, not grid.is_2d], out.position, 0.5 * grid.h))
        assert out.velocity[inside, :n] == pytest.approx(in_plane[inside, :n], abs=2e-5)
        assert out.affine[inside, :n, :n] - SKEW[:n, :n] == pytest.approx(0, abs=2e-4)


def first_moment_of_particles(grid, particles):
    """Σ_p x_b v_a + c_ab D_b, D_b = h² f (1 − f) with f the fraction between the samples of component a: [a, b].

    Its antisymmetric part is the angular momentum about the origin. D is the
    second moment of the hats, Σ_f w_f (x_f − x_p)_b (x_f − x_p)_d, which is
    diagonal.  Jiang et al. 2015 §5.
    """
    x, v, c, *_ = (array.astype(float) for array in particles)
    f = (x[:, None, :] / grid.h - 0.5 * (1 - np.eye(3))) % 1
    return np.einsum("pa,pb->ab", v, x) + (c * grid.h**2 * f * (1 - f)).sum(0)


def first_moment_of_faces(grid, velocity, weight):
    """Σ_f m_f u_f x_b: [a, b]."""
    return np.array([np.einsum("ijk,ijkb->b", velocity[a] * weight[a], grid.face_points(a)) for a in range(3)])


def momentum_of_faces(velocity, weight):
    return [np.vdot(u.astype(float), m) for u, m in zip(velocity, weight, strict=True)]


def test_apic_to_faces_keeps_linear_and_angular_momentum():
    """Away from walls: Σ_f w_f x_f = x_p holds only where no hat is cut off."""
    grid = GRIDS["3-D"]
    particles, first = sorted_by_cell(grid, scattered(grid, margin=0.5, affine=True))
    velocity, weight = to_faces(grid, particles, first)
    momentum = particles.velocity.astype(float).sum(0)
    assert momentum_of_faces(velocity, weight) == pytest.approx(momentum, abs=1e-4)
    expected = first_moment_of_particles(grid, particles)
    assert first_moment_of_faces(grid, velocity, weight) == pytest.approx(expected, abs=1e-4)


def test_apic_to_particles_keeps_linear_and_angular_momentum():
    """w_f x_p + D ∇w_f = w_f x_f: what the faces have is what the particles get, if m_f = Σ_p w_f."""
    grid = GRIDS["3-D"]
    particles, first = sorted_by_cell(grid, scattered(grid, margin=0.5, affine=True))
    _, weight = to_faces(grid, particles, first)
    u = random_faces(grid)
    out = to_particles(grid, particles, u)
    assert out.velocity.astype(float).sum(0) == pytest.approx(momentum_of_faces(u, weight), abs=1e-4)
    assert first_moment_of_particles(grid, out) == pytest.approx(first_moment_of_faces(grid, u, weight), abs=1e-4)


@pytest.mark.parametrize("affine", [False, True])
def test_momentum_is_kept_at_walls_too(grid, affine):
    """To particles always, as Σ_p w_f = m_f; to faces if there is no affine part, as Σ_f w_f = 1."""
    particles, first = sorted_by_cell(grid, scattered(grid, margin=-0.25, affine=affine))
    velocity, weight = to_faces(grid, particles, first)
    if not affine:
        momentum = particles.velocity.astype(float).sum(0)
        assert momentum_of_faces(velocity, weight) == pytest.approx(momentum, abs=1e-3)
    out = to_particles(grid, particles, velocity)
    momentum = out.velocity.astype(float).sum(0)
    assert momentum_of_faces(velocity, weight) == pytest.approx(momentum, abs=1e-3)


# ---- density


def test_density_is_the_sum_of_hats_at_centres(grid):
    particles, first = sorted_by_cell(grid, scattered(grid, 2000))
    out = density(grid, particles.position, first)
    assert out.dtype == np.float32
    assert out == pytest.approx(hats(grid, particles.position).sum(0), rel=1e-5, abs=1e-5)


def test_density_counts_every_particle_away_from_walls():
    grid = GRIDS["3-D"]
    particles, first = sorted_by_cell(grid, scattered(grid, 1000, margin=0.5))
    assert density(grid, particles.position, first).sum() == pytest.approx(1000, rel=1e-6)


def test_density_of_a_lattice_is_its_number_per_cell():
    """Eight to a cell, evenly: 8 inside, less by the hats' outer halves at the sides."""
    grid = Grid((6, 5, 4), 0.5)
    axes = [(np.arange(2 * n) + 0.5) * 0.5 * grid.h for n in grid.shape]
    position = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    particles, first = sorted_by_cell(grid, Particles.at(position, 0.0))
    out = density(grid, particles.position, first)
    assert out[1:-1, 1:-1, 1:-1] == pytest.approx(8)
    assert out[0, 1:-1, 1:-1] == pytest.approx(8 * 7 / 8)


# ---- hats of two cells, for one particle in a cell


def wide(grid, position, axis=None):
    """The hats of two cells to each side, half as high along each axis that has cells: of the samples in the grid."""
    shape = grid.shape if axis is None else grid.face_shape(axis)
    out = hats(grid, position, axis)
    for d in range(3):
        if shape[d] > 1:
            sides = np.zeros((2, *out.shape))
            np.moveaxis(sides[0], 1 + d, 0)[1:] = np.moveaxis(out, 1 + d, 0)[:-1]
            np.moveaxis(sides[1], 1 + d, 0)[:-1] = np.moveaxis(out, 1 + d, 0)[1:]
            out = 0.5 * out + 0.25 * sides.sum(0)
    return out


def test_sums_of_hats_are_a_hat_twice_as_wide():
    """½ Λ(x/2) = ¼ Λ(x − 1) + ½ Λ(x) + ¼ Λ(x + 1), away from the sides."""
    grid = Grid((12, 11, 10), 0.1)
    position = scattered(grid, 50, margin=4).position
    samples = [np.arange(n) + 0.5 for n in grid.shape]
    expected = np.ones((len(position), 1, 1, 1))
    for d in range(3):
        w = 0.5 * np.maximum(1 - np.abs(position[:, d, None] / grid.h - samples[d]) / 2, 0)
        expected = expected * w.reshape(-1, *(len(samples[d]) if e == d else 1 for e in range(3)))
    assert wide(grid, position) == pytest.approx(expected, abs=1e-5)


def test_velocity_by_wide_hats(grid):
    particles, first = sorted_by_cell(grid, scattered(grid, 300))
    velocity, weight = to_faces(grid, particles, first, reach=2)
    for a in range(3):
        w = wide(grid, particles.position, a)
        assert weight[a] == pytest.approx(w.sum(0), rel=1e-4, abs=1e-5)
        momentum = (w * particles.velocity[:, a].reshape(-1, 1, 1, 1)).sum(0)
        assert velocity[a] * weight[a] == pytest.approx(momentum, rel=1e-4, abs=1e-4)


def test_wide_hats_keep_momentum_away_from_walls():
    grid = Grid((9, 10, 11), 0.1)
    particles, first = sorted_by_cell(grid, scattered(grid, 400, margin=2))
    velocity, weight = to_faces(grid, particles, first, reach=2)
    for a in range(3):
        assert (velocity[a] * weight[a]).sum() == pytest.approx(particles.velocity[:, a].sum(), rel=1e-4, abs=1e-3)


def test_wide_hats_know_no_affine_part(grid):
    particles, first = sorted_by_cell(grid, scattered(grid, affine=True))
    with pytest.raises(ValueError, match="affine"):
        to_faces(grid, particles, first, reach=2)


def test_density_by_wide_hats(grid):
    particles, first = sorted_by_cell(grid, scattered(grid, 300))
    expected = wide(grid, particles.position).sum(0)
    assert density(grid, particles.position, first, reach=2) == pytest.approx(expected, rel=1e-4, abs=1e-5)


# ---- odd sets, threads, input


@pytest.mark.parametrize("affine", [False, True])
def test_no_particles(grid, affine):
    particles, first = sorted_by_cell(grid, Particles.at(np.empty((0, 3)), 0.0, affine))
    assert not first.any()
    velocity, weight = to_faces(grid, particles, first)
    assert not any(u.any() for u in (*velocity, *weight))
    assert not density(grid, particles.position, first).any()
    assert len(to_particles(grid, particles, grid.zeros_faces(), grid.zeros_faces(), 0.97).velocity) == 0


def test_all_particles_in_one_cell(grid):
    low = (np.array(grid.shape) - 1) * grid.h
    particles = scattered(grid, 1000)
    particles.position[:] = (low + particles.position / grid.size * grid.h * 0.99).astype(np.float32)
    out, first = sorted_by_cell(grid, copied(particles))
    assert np.array_equal(out.position, particles.position)
    assert not first[:-1].any()
    velocity, weight = to_faces(grid, out, first)
    for a in range(3):
        w = hats(grid, particles.position, a)
        assert weight[a] == pytest.approx(w.sum(0), rel=1e-4)
        total = np.einsum("p...,p->...", w, particles.velocity[:, a].astype(float))
        assert velocity[a] * weight[a] == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize("affine", [False, True])
def test_threads_do_not_matter(on_threads, affine):
    grid = Grid((37, 6, 11), 0.1)
    particles = scattered(grid, 20_000, affine=affine)
    u, old = random_faces(grid, 1), random_faces(grid, 2)

    def everything():
        out, first = sorted_by_cell(grid, copied(particles))
        velocity, weight = to_faces(grid, out, first)
        dense = density(grid, out.position, first)
        back = to_particles(grid, copied(out), u, old, 0.9)
        faster = to_particles(grid, copied(out), u, old, 0.9, first)
        return *out, first, *velocity, *weight, dense, *back, *faster

    alone, together = (on_threads(n, everything) for n in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_bad_input_is_named():
    grid = GRIDS["3-D"]
    particles, first = sorted_by_cell(grid, scattered(grid, 10))
    with pytest.raises(ValueError, match=r"position \(10, 3\), velocity \(9, 3\)"):
        sorted_by_cell(grid, particles._replace(velocity=particles.velocity[1:]))
    with pytest.raises(ValueError, match=r"expected .* as sorted_by_cell gives it"):
        to_faces(grid, particles, first[:-1])
    with pytest.raises(ValueError, match=r"expected .* and 9, as sorted_by_cell gives it"):
        density(grid, particles.position[1:], first)
    with pytest.raises(ValueError, match=r"flip=0.97 needs the old velocity"):
        to_particles(grid, particles, grid.zeros_faces(), None, 0.97)
    with pytest.raises(ValueError, match=r"old.x has shape \(4, 3, 3\)"):
        to_particles(grid, particles, grid.zeros_faces(), Grid((3, 3, 3), 1.0).zeros_faces(), 0.97)
    particles.position[[3, 5], 1] = np.nan
    with pytest.raises(ValueError, match="position of 2 particles is not a number"):
        sorted_by_cell(grid, particles)


# ---- plain Python


def everything_on_tiny_grids():
    """The results of every public function on tiny grids, as a dict of arrays."""
    results = {}
    for grid in (Grid((4, 3, 2), 0.5), Grid((4, 3, 1), 0.5)):
        for affine in (False, True):
            particles, first = sorted_by_cell(grid, scattered(grid, 40, margin=-0.25, affine=affine))
            velocity, weight = to_faces(grid, particles, first)
            dense = density(grid, particles.position, first)
            faces = random_faces(grid, 1), random_faces(grid, 2)
            faster = to_particles(grid, copied(particles), *faces, 0.9, first)
            back = to_particles(grid, particles, *faces, 0.9)
            arrays = [*particles, first, *velocity, *weight, dense, *back, *faster]
            results |= {f"{grid.shape} {affine} {n}": array for n, array in enumerate(arrays)}
    return results


def test_plain_python_gives_the_same(tmp_path):
    """Which says where an index runs out of bounds; Numba does not."""
    file = tmp_path / "plain.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, __file__, str(file)], check=True, env=environment, timeout=120)
    plain, compiled = np.load(file), everything_on_tiny_grids()
    assert set(plain) == set(compiled)
    for name, array in compiled.items():
        assert array.dtype == plain[name].dtype
        assert array == pytest.approx(plain[name], rel=1e-5, abs=1e-5), name


if __name__ == "__main__":
    np.savez(sys.argv[1], **everything_on_tiny_grids())
