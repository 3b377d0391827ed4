"""The matrix of mass and strain, against one made of its definition, and how fast multigrid solves it."""

from types import SimpleNamespace

import numpy as np
import pytest

from paddlewheel.solve.cg import conjugate_gradients
from paddlewheel.solve.strain import apply, pack_faces, part_of_square, strain, unpack_faces
from paddlewheel.solve.strain_multigrid import StrainMultigrid

FAR = 1e3


def faces_of(shape):
    return [tuple(n + (a == b) for b, n in enumerate(shape)) for a in range(3)]


def random_case(shape, seed=0, walls=True):
    """Octants with gaps, and a tilted wall."""
    random = np.random.default_rng(seed)
    filled = random.uniform(size=[2 * n for n in shape]).astype(np.float32)
    filled[random.uniform(size=filled.shape) < 0.3] = 0
    for axis in range(3):  # nothing takes part in a strain at the last faces
        if shape[axis] > 1:
            view = np.moveaxis(filled, axis, 0)
            view[:2] = view[-2:] = 0
    if shape[0] == 1:
        filled[1] = filled[0]
    weight = filled * random.uniform(0.5, 3, size=filled.shape).astype(np.float32)
    if shape[0] == 1:
        weight[1] = weight[0]
    distance = []
    for size in faces_of(shape):
        i, j, k = np.indices(size)
        distance.append((0.3 * i + 0.8 * j - 0.5 * k - 0.7 if walls else np.full(size, FAR)).astype(np.float32))
    return filled, weight, distance


def mean(octants, at):
    """Over the eight octants around a point of the lattice of half cells; none are beyond the grid."""
    total = 0.0
    for corner in np.ndindex(2, 2, 2):
        index = tuple(np.subtract(at, corner))
        if min(index) >= 0 and all(m < n for m, n in zip(index, octants.shape, strict=True)):
            total += float(octants[index])
    return total / 8


def positive_part(middle, rise, other_rise):
    """Area of the part of a unit square where a linear function is positive, as a polygon."""
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    f = middle + corners @ [rise, other_rise]
    points = []
    for n in range(4):
        m = (n + 1) % 4
        if f[n] > 0:
            points.append(corners[n])
        if (f[n] > 0) != (f[m] > 0):
            points.append(corners[n] + f[n] / (f[n] - f[m]) * (corners[m] - corners[n]))
    x, y = np.array(points).reshape(-1, 2).T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


@pytest.mark.parametrize("rises", [(0.6, -0.8), (0.0, 1.0), (1e-9, 0.0), (2.0, 0.3)])
@pytest.mark.parametrize("middle", [-2.0, -0.31, -1e-3, 0.2, 0.69, 0.9])
def test_part_of_a_square(middle, rises):
    assert part_of_square(middle, *rises) == pytest.approx(positive_part(middle, *rises), abs=1e-5)


def energy(filled, weight, distance, u, coupled=True):
    """u·A u, sample by sample, in plain Python."""
    shape = [n // 2 for n in filled.shape]
    flat, total = shape[0] == 1, 0.0
    unit = np.eye(3, dtype=int)

    def difference(a, low, high):
        """Slope of component a between two faces, and the part of the way that is not known."""
        (d0, d1), (u0, u1) = ((f[a][tuple(low)], f[a][tuple(high)]) for f in (distance, u))
        if d0 > 0 and d1 > 0:
            return u1 - u0, 1.0
        if d0 <= 0 and d1 <= 0:
            return 0.0, 1.0
        theta = max(float(max(d0, d1)) / float(abs(d0) + abs(d1)), 1e-2)
        return ((u1 if d1 > 0 else 0.0) - (u0 if d0 > 0 else 0.0)) / theta, theta

    def uncovered(ends, first, second):
        """The part of an edge's square that is not known, by the distances of its sides; between both θ."""
        d = np.array(ends, float)
        if (d > 0).all():
            return 1.0
        if not (d[0] > 0).any():
            return second
        if not (d[1] > 0).any():
            return first
        area = positive_part(d.mean(), *(d[:, 1] - d[:, 0]))
        return np.clip(area, min(first, second), max(first, second))

    for a in range(3):
        if flat and a == 0:
            continue
        for index in np.ndindex(*faces_of(shape)[a]):
            if distance[a][index] > 0:
                total += mean(filled, 2 * np.array(index) + 1 - unit[a]) * u[a][index] ** 2
        for index in np.ndindex(*shape):
            slope, theta = difference(a, index, index + unit[a])
            total += (2 if coupled else 1) * mean(weight, 2 * np.array(index) + 1) * theta * slope**2
    for c in range(3):
        a, b = (c + 1) % 3, (c + 2) % 3
        if flat and c != 0:
            continue
        for index in np.ndindex(*(n + (d != c) for d, n in enumerate(shape))):
            if not (0 < index[a] < shape[a] and 0 < index[b] < shape[b]):
                continue
            one, first = difference(a, index - unit[b], index)
            two, second = difference(b, index - unit[a], index)
            w = mean(weight, 2 * np.array(index) + unit[c])
            if coupled:
                ends = [[distance[e][tuple(index - unit[f])], distance[e][index]] for e, f in ((a, b), (b, a))]
                total += w * uncovered(ends, first, second) * (one + two) ** 2
            else:
                total += w * (first * one**2 + second * two**2)
    return total


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("walls", [True, False])
@pytest.mark.parametrize("shape", [(6, 5, 7), (1, 8, 6), (5, 6, 6)])
def test_the_matrix_has_the_energy_of_its_definition(shape, walls, coupled):
    filled, weight, distance = random_case(shape, walls=walls)
    matrix = strain(filled, weight, distance, coupled=coupled)
    random = np.random.default_rng(3)
    u = [random.standard_normal(size) for size in faces_of(shape)]
    x = pack_faces(matrix.layout, u)
    x[matrix.inverse == 0] = 0
    back = [np.zeros(size) for size in faces_of(shape)]
    unpack_faces(matrix.layout, x, back)
    expected = energy(filled, weight, distance, back, coupled)
    assert apply(matrix)(matrix.layout.zeros(np.float64), x) == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize("shape", [(6, 5, 7), (1, 8, 6)])
def test_the_matrix_is_symmetric(shape):
    matrix = strain(*random_case(shape))
    random, product = np.random.default_rng(4), apply(matrix)
    x, y = (random.standard_normal(matrix.inverse.shape) * (matrix.inverse > 0) for _ in range(2))
    ax, ay = (matrix.layout.zeros(np.float64) for _ in range(2))
    product(ax, x)
    product(ay, y)
    assert (y * ax).sum() == pytest.approx((x * ay).sum(), rel=1e-9)


@pytest.mark.parametrize("shape", [(6, 5, 7), (1, 8, 6)])
def test_rigid_motions_have_no_strain(shape):
    filled, weight, distance = random_case(shape, walls=False)
    matrix = strain(filled, 1e6 * weight, distance)
    turn, drift = (
        (np.array([0.7, -0.4, 0.9]), np.array([0.2, 0.5, -0.3])) if shape[0] > 1 else ([0.8, 0, 0], [0, 0.5, 1])
    )
    u = []
    for a, size in enumerate(faces_of(shape)):
        points = np.stack(np.indices(size), axis=-1) + 0.5 - 0.5 * np.eye(3)[a]
        u.append((np.cross(turn, points) + drift)[..., a])
    x, q = pack_faces(matrix.layout, u), matrix.layout.zeros(np.float64)
    x[matrix.inverse == 0] = 0
    apply(matrix)(q, x)
    known = matrix.inverse == 0
    # a face without any mass or strain is no unknown, and counts as zero: only whole neighbourhoods are rigid
    assert np.abs(q - matrix.mass * x)[~known].max() < 1e-8


def ball(n, centre, radius):
    x, y, z = (np.indices([2 * n] * 3) + 0.5) / 2
    away = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2)
    return np.clip(0.5 + 2 * (radius - away), 0, 1).astype(np.float32)


def floor(n, height):
    return [
        (np.indices(size)[1] + 0.5 * (a != 1) - height).astype(np.float32) for a, size in enumerate(faces_of((n,) * 3))
    ]


@pytest.mark.parametrize("height", [-FAR, 9.3], ids=["free", "on a floor"])
@pytest.mark.parametrize("kappa", [1.0, 1e2, 1e4, 1e6])
def test_few_iterations_however_stiff(kappa, height):
    n = 24
    filled, distance = ball(n, (12.3, 12.1, 11.8), 7.4), floor(n, height)
    weight = np.float32(kappa) * filled
    matrix = strain(filled, weight, distance)
    random = np.random.default_rng(5)
    x = random.standard_normal(matrix.inverse.shape) * (matrix.inverse > 0)
    system = SimpleNamespace(layout=matrix.layout, rhs=matrix.mass * x, unknowns=matrix.unknowns)
    multigrid = StrainMultigrid(matrix, filled, weight, distance)
    _, info = conjugate_gradients(system, x, apply(matrix), multigrid, 1e-4, 100, "viscosity")
    assert info.converged
    assert info.iterations <= 18


def test_the_cycle_is_symmetric_and_positive():
    n = 24
    filled, distance = ball(n, (12.3, 12.1, 11.8), 7.4), floor(n, 9.3)
    weight = np.float32(30) * filled
    matrix = strain(filled, weight, distance)
    multigrid = StrainMultigrid(matrix, filled, weight, distance)
    assert len(multigrid.levels) > 2
    random = np.random.default_rng(6)
    r, s = (random.standard_normal(matrix.inverse.shape).astype(np.float32) * (matrix.inverse > 0) for _ in range(2))
    br, bs = matrix.layout.zeros(np.float32), matrix.layout.zeros(np.float32)
    multigrid(br, r)
    multigrid(bs, s)
    one, other = (s.astype(float) * br).sum(), (r.astype(float) * bs).sum()
    scale = np.sqrt((r.astype(float) * br).sum() * (s.astype(float) * bs).sum())
    assert scale > 0
    assert abs(one - other) < 1e-5 * scale
