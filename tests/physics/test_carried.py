"""What the flow carries: orders, bounds, solids that let nothing through, sides that do."""

import numpy as np
import pytest

from grid.turning import TURNS, turn, turn_faces
from paddlewheel.grid.cells import open_cells
from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.carried import SCHEMES, carried, carried_faces
from paddlewheel.solids.shapes import Box, Sphere
from paddlewheel.types import SIDES, Faces, Grid

GRID = Grid((14, 12, 10), 0.05)
FLAT = Grid((24, 20, 1), 0.05)
grids = pytest.mark.parametrize("grid", [GRID, FLAT], ids=["3-D", "2-D"])
schemes = pytest.mark.parametrize("scheme", SCHEMES)
each_order = pytest.mark.parametrize(("scheme", "order"), [("semi-lagrangian", 0.8), ("maccormack", 1.75)])


def random_faces(grid, seed=1):
    rng = np.random.default_rng(seed)
    u = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    if grid.is_2d:
        u.z[:] = 0
    return u


def random_cells(grid, seed=2):
    return np.random.default_rng(seed).random(grid.shape).astype(np.float32)


def constant(grid, vector):
    return Faces(*(np.full(grid.face_shape(a), v, np.float32) for a, v in enumerate(vector)))


def sampled(grid, function):
    """The components of function(points) -> (..., 3) on the faces."""
    return Faces(*(function(grid.face_points(a))[..., a].astype(np.float32) for a in range(3)))


def ball(grid, shift=0.0):
    centre = 0.5 * np.array(grid.size) + (shift, 0, 0)
    return measure(grid, [Solid(Sphere(tuple(centre), 0.13))])


def fitted_order(cells, errors):
    return -np.polyfit(np.log(cells), np.log(errors), 1)[0]


@grids
@schemes
def test_constants_are_kept_exactly(grid, scheme):
    """Whatever the flow, beside solids and at sides, at steps of many cells."""
    boundary, value = ball(grid), np.float32(0.3)
    inside = ~open_cells(boundary.phi)
    q, t = carried(
        grid, [np.full(grid.shape, value), np.where(inside, 99, value)], random_faces(grid), boundary, 0.3,
        ambient=(value, value), scheme=scheme, open_sides={"-x", "+y"},
    )  # fmt: skip
    assert np.all(q == value)
    assert np.all(t == value)
    u = carried_faces(grid, constant(grid, (0.1, 0.2, 0.3)), random_faces(grid), boundary, 0.3, scheme=scheme)
    assert all(np.all(f == np.float32(v)) for f, v in zip(u, (0.1, 0.2, 0.3), strict=True))


@grids
@schemes
@pytest.mark.parametrize("dt", [0.02, 0.4])
def test_no_value_arises_that_was_not_there(grid, scheme, dt):
    boundary, q, u = ball(grid), random_cells(grid), random_faces(grid)
    is_open = open_cells(boundary.phi)
    q[~is_open] = 99  # not read
    (after,) = carried(grid, [q], u, boundary, dt, scheme=scheme)
    assert q[is_open].min() <= after[is_open].min()
    assert after[is_open].max() <= q[is_open].max()
    assert np.all(after[~is_open] == 0)
    velocity = random_faces(grid, 3)
    faces = carried_faces(grid, velocity, u, boundary, dt, scheme=scheme)
    for before, now, w in zip(velocity, faces, boundary.open, strict=True):
        assert np.array_equal(now[w == 0], before[w == 0])
        assert before.min() <= now.min()
        assert now.max() <= before.max()


@grids
@schemes
def test_what_does_not_move_stays(grid, scheme):
    boundary, q, u = ball(grid), random_cells(grid), random_faces(grid)
    is_open = open_cells(boundary.phi)
    for flow, dt in ((u, 0.0), (grid.zeros_faces(), 1.0)):
        (after,) = carried(grid, [q], flow, boundary, dt, scheme=scheme)
        assert np.array_equal(after[is_open], q[is_open])
        faces = carried_faces(grid, u, flow, boundary, dt, scheme=scheme)
        assert all(np.array_equal(*pair) for pair in zip(faces, u, strict=True))


@schemes
@pytest.mark.parametrize("stages", [2, 3])
def test_whole_cells_are_a_shift(scheme, stages):
    """A uniform flow of two cells along x, and one against y, brings what was there."""
    q, boundary = random_cells(GRID), measure(GRID, [], open_sides=set(SIDES))
    flow = constant(GRID, (2 * GRID.h, -GRID.h, 0))
    (after,) = carried(GRID, [q], flow, boundary, 1.0, scheme=scheme, stages=stages, open_sides=set(SIDES))
    assert after[2:, :-1] == pytest.approx(q[:-2, 1:], abs=2e-5)
    assert max(after[:2].max(), after[:, -1].max()) <= 2e-5


@each_order
def test_order_of_a_turning_blob(scheme, order):
    """A third of a turn at about 2 cells a step: the blob comes to where it should."""
    cells, errors = (64, 128, 256), []
    for n in cells:
        grid = Grid((n, n, 1), 1 / n)
        flow = sampled(grid, lambda x: np.cross((0, 0, 1), x - (0.5, 0.5, 0)))
        boundary, x = measure(grid, [], open_sides=set(SIDES[:4])), grid.cell_points()[..., :2] - 0.5

        def blob(angle, x=x):
            middle = 0.2 * np.array((np.cos(angle), np.sin(angle)))
            return np.exp(-np.sum((x - middle) ** 2, axis=-1) / 0.08**2).astype(np.float32)

        steps, q = n // 4, blob(0)
        for _ in range(steps):
            (q,) = carried(grid, [q], flow, boundary, 2 * np.pi / 3 / steps, scheme=scheme, open_sides=set(SIDES[:4]))
        errors.append(np.abs(q - blob(2 * np.pi / 3)).mean())
    assert fitted_order(cells, errors) > order


@each_order
def test_order_in_taylor_green(scheme, order):
    """In the flow of the stream function ψ = sin πx sin πy, what is a function of ψ stays; walls all around."""
    cells, errors = (32, 64, 128), []
    for n in cells:
        grid = Grid((n, n, 1), 1 / n)
        flow = sampled(grid, lambda x: np.stack(_taylor_green(x), axis=-1))
        x = np.pi * grid.cell_points()
        start = (np.sin(x[..., 0]) * np.sin(x[..., 1])).astype(np.float32)
        boundary, q = measure(grid, []), start
        for _ in range(n // 4):
            (q,) = carried(grid, [q], flow, boundary, 2.0 / n, scheme=scheme)
        errors.append(np.abs(q - start).mean())
    assert fitted_order(cells, errors) > order


def _taylor_green(x):
    x = np.pi * x
    return np.sin(x[..., 0]) * np.cos(x[..., 1]), -np.cos(x[..., 0]) * np.sin(x[..., 1]), 0 * x[..., 0]


@pytest.mark.parametrize(("scheme", "order"), [("semi-lagrangian", 1.8), ("maccormack", 2.7)])
def test_error_of_one_step_beside_walls(scheme, order):
    """Of Taylor–Green, largest over all faces: one order more than that of many steps."""
    cells, errors = (32, 64, 128), []
    for n in cells:
        grid, dt, parts = Grid((n, n, 1), 1 / n), 1 / n, 20
        u, x = sampled(grid, lambda x: np.stack(_taylor_green(x), axis=-1)), grid.face_points(0)
        for _ in range(parts):
            middle = x - 0.5 * dt / parts * np.stack(_taylor_green(x), axis=-1)
            x = x - dt / parts * np.stack(_taylor_green(middle), axis=-1)
        after = carried_faces(grid, u, u, measure(grid, []), dt, scheme=scheme)
        errors.append(np.abs(after.x - _taylor_green(x)[0]).max())
    assert fitted_order(cells, errors) > order


@each_order
def test_order_of_velocity_in_a_uniform_flow(scheme, order):
    """A vortex drifts in 3-D, as it is."""
    cells, errors = (32, 64), []
    drift, time = np.array((0.7, 0.4, -0.3)), 0.3

    def vortex(x):
        x = x - 0.5
        return np.cross((0.3, 0.5, 0.8), x) * np.exp(-np.sum(x**2, axis=-1, keepdims=True) / 0.15**2)

    for n in cells:
        grid, steps = Grid((n, n, n), 1 / n), n // 8
        u, flow, boundary = sampled(grid, vortex), constant(grid, drift), measure(grid, [], open_sides=set(SIDES))
        for _ in range(steps):
            u = carried_faces(
                grid, u, flow, boundary, time / steps, scheme=scheme, open_sides=set(SIDES), ambient=(0, 0, 0)
            )
        exact = sampled(grid, lambda x: vortex(x - drift * time))
        errors.append(np.mean([np.abs(a - b).mean() for a, b in zip(u, exact, strict=True)]))
    assert fitted_order(cells, errors) > order


@pytest.mark.parametrize(("stages", "order"), [(2, 1.8), (3, 2.8)])
def test_order_of_paths(stages, order):
    """A linear field, which both schemes read exactly, in rigid rotation by one radian: only the paths err."""
    grid = Grid((16, 16, 1), 1 / 16)
    flow = sampled(grid, lambda x: np.cross((0, 0, 1), x - (0.5, 0.5, 0)))
    x = grid.cell_points()[..., :2] - 0.5
    near, steps, errors = np.linalg.norm(x, axis=-1) < 0.35, (1, 2, 4), []
    boundary = measure(grid, [])
    for n in steps:
        (q,) = carried(grid, [x[..., 0]], flow, boundary, 1 / n, scheme="semi-lagrangian", stages=stages)
        turned = np.cos(1 / n) * x[..., 0] + np.sin(1 / n) * x[..., 1]
        errors.append(n * np.abs(q - turned)[near].max())
    assert fitted_order(steps, errors) > order


@grids
@schemes
def test_nothing_passes_a_wall_one_cell_thick(grid, scheme):
    """Nor does anything come out of it, at 7 cells a step towards it and away from it."""
    h, side = grid.h, 8
    wall = Box((side * h, -9, -9), ((side + 1) * h, 9, 9))
    boundary, q = measure(grid, [Solid(wall)]), np.zeros(grid.shape, np.float32)
    q[:side], q[side] = 1, 0.5
    for u in ((7 * h, 0.3 * h, 0), (-7 * h, 0.3 * h, 0)):
        (after,) = carried(grid, [q], constant(grid, u), boundary, 1.0, scheme=scheme)
        assert np.all(after[:side] == 1)
        assert np.all(after[side:] == 0)


@grids
@schemes
def test_a_ball_that_leaves_uncovers_what_is_around_it(grid, scheme):
    """Smoke of one density fills what was inside, whether it follows the ball or not; ambient value 0 is left in it."""
    before, boundary = ball(grid), ball(grid, shift=2.3 * grid.h)
    q = np.where(open_cells(before.phi), 1, 0).astype(np.float32)
    is_open = open_cells(boundary.phi)
    assert np.any(is_open & (q == 0))
    for speed in (0.0, 2.3 * grid.h):
        (after,) = carried(grid, [q], constant(grid, (speed, 0, 0)), boundary, 1.0, before=before, scheme=scheme)
        assert np.array_equal(after, is_open.astype(np.float32))


@schemes
def test_open_sides_bring_in_what_is_beyond_them(scheme):
    """A uniform flow fills the box with the ambient value from -x; smoke that was there leaves."""
    grid, sides = Grid((20, 6, 1), 0.1), {"-x", "+x"}
    boundary, q = measure(grid, [], open_sides=sides), np.ones(grid.shape, np.float32)
    flow = constant(grid, (0.15, 0, 0))
    for step in range(1, 5):
        (q,) = carried(grid, [q], flow, boundary, 1.0, ambient=(5.0,), scheme=scheme, open_sides=sides)
        assert (q[:, 0, 0].sum() - 20) / 4 == pytest.approx(1.5 * step, abs=0.6)
        assert np.all(q[:step] == 5)  # from samples one cell away or two, in each step
        assert np.all(q[2 * step :] == 1)
    u = constant(grid, (1, 2, 0))
    at_rest = carried_faces(grid, u, flow, boundary, 1.0, ambient=(0, 0, 0), scheme=scheme, open_sides=sides)
    assert np.all(at_rest.y[0, 1:-1] == 0)
    assert np.all(at_rest.y[4:, 1:-1] == 2)
    same = carried_faces(grid, u, flow, boundary, 1.0, scheme=scheme, open_sides=sides)
    assert all(np.array_equal(*pair) for pair in zip(same, u, strict=True))


@pytest.mark.parametrize("how", TURNS)
def test_turned_fields_are_carried_alike(how):
    """With a ball off the middle, in a flow of up to 5 cells a step."""
    boundary, q, u = ball(GRID, shift=0.07), random_cells(GRID), random_faces(GRID)
    (after,) = carried(GRID, [q], u, boundary, 0.08)
    faces = carried_faces(GRID, u, u, boundary, 0.08)
    q, u, phi = turn(q, how), turn_faces(u, how, vector=True), turn(boundary.phi, how)
    turned = boundary._replace(phi=phi, open=turn_faces(boundary.open, how, vector=False))
    grid = Grid(q.shape, GRID.h)
    (other,) = carried(grid, [q], u, turned, 0.08)
    # a path that a rounding error lets by a solid, or not, may end elsewhere, and what is mended adds up over all
    assert np.mean(np.abs(other - turn(after, how)) > 1e-3) < 0.01
    for a, b in zip(carried_faces(grid, u, u, turned, 0.08), turn_faces(faces, how, vector=True), strict=True):
        assert np.mean(np.abs(a - b) > 1e-4) < 0.01


@grids
@schemes
def test_the_number_of_threads_does_not_matter(on_threads, grid, scheme):
    boundary, q, u = ball(grid), [random_cells(grid), random_cells(grid, 5)], random_faces(grid)
    for function, fields in ((carried, q), (carried_faces, u)):
        ambient = (0.0,) * len(fields)
        one, two = (
            on_threads(n, function, grid, fields, u, boundary, 0.1, ambient=ambient, scheme=scheme, open_sides={"+y"})
            for n in (1, 2)
        )
        assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))


def test_several_fields_go_the_same_way():
    boundary, u = ball(GRID), random_faces(GRID)
    fields = [random_cells(GRID, seed) for seed in (1, 2, 3)]
    together = carried(GRID, fields, u, boundary, 0.1, ambient=(0, 1, 2))
    for q, value, after in zip(fields, (0, 1, 2), together, strict=True):
        assert np.array_equal(carried(GRID, [q], u, boundary, 0.1, ambient=(value,))[0], after)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dt": -1.0}, {"dt": np.nan}, {"scheme": "upwind"}, {"stages": 1}, {"open_sides": "+x"},
        {"ambient": (0, 0)}, {"fields": [np.zeros((3, 3, 3))]}, {"boundary": measure(FLAT, [])},
        {"flow": constant(GRID, (np.nan, 0, 0))}, {"flow": constant(FLAT, (0, 0, 0))},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    right = {"fields": [random_cells(GRID)], "flow": random_faces(GRID), "boundary": ball(GRID), "dt": 0.1}
    with pytest.raises(ValueError, match=r"expected|grid|finite"):
        carried(GRID, **(right | wrong))
