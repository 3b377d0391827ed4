"""The projection: docs/method.md to the letter, and what must hold of it whatever the scene."""

import numpy as np
import pytest

import zoo
from grid.turning import TURNS, turn, turn_faces
from paddlewheel.grid.extrapolate import constrain, extrapolate
from paddlewheel.grid.fractions import WEIGHTS
from paddlewheel.grid.stencil import divergence
from paddlewheel.items import Solid
from paddlewheel.measure import measure
from paddlewheel.physics.pressure import assemble, project
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, HalfSpace, Sphere
from paddlewheel.solve.linear import SOLVERS
from paddlewheel.types import SIDES, Boundary, Faces, Grid
from reference import by_the_book

GRIDS = {"3-D": Grid((7, 6, 5), 0.1), "2-D": Grid((9, 7, 1), 0.1)}
both = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
DT = 0.01


def tumbling(time):
    """A motion with every velocity there is; in 2-D its part in the plane."""
    return Pose((0.01, 0.02, 0), velocity=(0.3, -0.2, 0.5), angular_velocity=(1.0, 2.0, -1.5))


def spinning(time):
    return Pose((0.01, 0.02, 0), velocity=(0.3, -0.2, 0), angular_velocity=(0, 0, -1.5))


def cut_scene(grid, weights="area", open_sides=frozenset({"+y"}), moving=True, seed=1):
    """Random velocity around a moving ball and a slope, under a wavy surface: all that enters a system."""
    rng = np.random.default_rng(seed)
    motion = (spinning if grid.is_2d else tumbling) if moving else None
    middle = np.array(grid.size) * (0.55, 0.4, 0.5)
    items = [
        Solid(Sphere(middle, 0.21 * grid.size[0]), motion),
        Solid(HalfSpace((0, 0.12 * grid.size[1], 0), (0.3, 1, 0 if grid.is_2d else 0.2))),
    ]
    boundary = measure(grid, items, 0.0, weights, open_sides)
    x, y, z = np.moveaxis(grid.cell_points(), -1, 0) / grid.size[0]
    phi = grid.size[0] * (y - 0.53 - 0.1 * np.sin(9 * x + 4 * z))
    velocity = Faces(*(rng.standard_normal(grid.face_shape(a)).astype(np.float32) for a in range(3)))
    if grid.is_2d:
        velocity.z[:] = 0
    return grid, velocity, phi.astype(np.float32), boundary, DT


def energy(velocity, case):
    """Σ w θ u² over the faces a projection may change: θ is the liquid's part of the way between two centres.

    It is the metric in which the ghost-fluid gradient, p/θ at the surface, is minus the divergence transposed.
    """
    _, _, phi, boundary, _ = case
    total = 0.0
    for a in range(3):
        level = np.moveaxis(phi.astype(float), a, 0)
        level = np.concatenate([abs(level[:1]), level, abs(level[-1:])])  # p = 0 on an open side: θ = ½
        below, above = level[:-1], level[1:]
        wet, dry = np.minimum(below, above), np.maximum(below, above)
        theta = np.where(dry < 0, 1.0, np.where(wet < 0, wet / np.where(wet < 0, wet - dry, 1.0), 0.0))
        w, u = (np.moveaxis(f[a], a, 0).astype(float) for f in (boundary.open, velocity))
        total += (w * theta * u**2).sum()
    return total


def known_values(projection):
    return np.concatenate([u[k] for u, k in zip(projection.velocity, projection.known, strict=True)])


@both
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("open_sides", [frozenset(), frozenset({"+y"}), frozenset({"-x", "+x", "-y"})], ids=sorted)
def test_system_is_the_one_of_the_method(grid, weights, open_sides):
    case = cut_scene(grid, weights, open_sides)
    exact, b, number = by_the_book(*case, density=800.0)
    system = assemble(*case, density=800.0)
    assert np.array_equal(system.unknown, number >= 0)
    assert system.rhs[system.unknown] == pytest.approx(b, rel=1e-9, abs=1e-9 * np.abs(b).max())
    assert not system.rhs[~system.unknown].any()
    assert not system.extra[~system.unknown].any()

    A = np.zeros_like(exact)
    for axis, coupling in enumerate(system.coupling):
        for face in zip(*np.nonzero(coupling), strict=True):
            above, below = number[face], number[tuple(c - (d == axis) for d, c in enumerate(face))]
            c = float(coupling[face])
            A[above, below] -= c
            A[below, above] -= c
            A[above, above] += c
            A[below, below] += c
    A[np.diag_indices(len(A))] += system.extra[system.unknown]
    assert pytest.approx(exact, rel=1e-12, abs=1e-12) == A
    assert np.array_equal(exact, exact.T)
    assert np.linalg.eigvalsh(exact).min() > 0 or not open_sides


@both
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("applied", [False, True], ids=["no air pressure", "air pressure"])
def test_pressure_is_the_one_of_the_method(grid, weights, applied):
    """Against a dense solve, with a pressure that varies along the surface."""
    case = cut_scene(grid, weights, open_sides=frozenset())
    surface = 500 * np.random.default_rng(5).standard_normal(grid.shape) * applied
    A, b, number = by_the_book(*case, density=800.0, surface_pressure=surface)
    projection = project(*case, density=800.0, surface_pressure=surface, tolerance=1e-11)
    exact = np.linalg.solve(A, b)
    assert projection.pressure[number >= 0] == pytest.approx(exact, abs=1e-8 * np.abs(exact).max())


@both
@every_solver
@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_divergence_is_left(grid, solver, weights):
    """Σ ±[w u + (1 − w) u_solid] = 0 in every cell that has an unknown, with solids that move and turn."""
    case = cut_scene(grid, weights)
    _, before, _, boundary, _ = case
    projection = project(*case, solver=solver, tolerance=1e-9)
    unknown = assemble(*case).unknown
    left = divergence(projection.velocity, boundary.open, grid.h, boundary.velocity)[unknown]
    given = divergence(before, boundary.open, grid.h, boundary.velocity)[unknown]
    assert np.abs(left).max() <= 1e-6 * np.abs(given).max()  # float32 velocity


@both
def test_known_faces_are_open_and_wet_and_the_rest_is_untouched(grid):
    case = cut_scene(grid)
    _, before, phi, boundary, _ = case
    projection = project(*case)
    for a in range(3):
        wet = np.pad(phi < 0, [(1, 1) if d == a else (0, 0) for d in range(3)])
        low, high = np.moveaxis(wet, a, 0)[:-1], np.moveaxis(wet, a, 0)[1:]
        expected = np.moveaxis(low | high, 0, a) & (boundary.open[a] > 0)
        assert np.array_equal(projection.known[a], expected)
        assert np.array_equal(projection.velocity[a][~expected], before[a][~expected])
        assert projection.velocity[a].dtype == np.float32


@both
@pytest.mark.parametrize("weights", WEIGHTS)
def test_projection_never_adds_energy(grid, weights):
    """It is the minimiser: with solids at rest the energy falls, the change is orthogonal to the result
    (Pythagoras), and a second projection changes nothing."""
    case = cut_scene(grid, weights, moving=False)
    once = project(*case, tolerance=1e-10)
    _, before, phi, boundary, dt = case
    change = Faces(*(u - v for u, v in zip(before, once.velocity, strict=True)))
    parts = energy(once.velocity, case), energy(change, case)
    assert sum(parts) == pytest.approx(energy(before, case), rel=1e-5)
    assert min(parts) > 0.05 * max(parts)
    twice = project(grid, once.velocity, phi, boundary, dt, tolerance=1e-10)
    assert known_values(twice) == pytest.approx(known_values(once), abs=1e-6 * float(np.abs(known_values(once)).max()))


@pytest.mark.parametrize(
    ("grid", "how"),
    [(Grid((20, 18, 16), 0.1), how) for how in TURNS]
    + [(Grid((33, 28, 1), 0.1), how) for how, (axes, _) in TURNS.items() if axes[2] == 2],  # the others leave the plane
)
def test_turning_the_scene_turns_the_result(grid, how):
    """Reflections and rotations by 90°."""
    axes, _ = TURNS[how]
    _, velocity, phi, boundary, dt = case = cut_scene(grid)
    turned_grid = Grid(tuple(grid.shape[a] for a in axes), grid.h)
    turned_boundary = Boundary(
        turn(boundary.phi, how),
        turn_faces(boundary.open, how, vector=False),
        turn_faces(boundary.velocity, how, vector=True),
    )
    straight = project(*case, tolerance=1e-10)
    turned = project(
        turned_grid, turn_faces(velocity, how, vector=True), turn(phi, how), turned_boundary, dt, tolerance=1e-10
    )
    largest = np.abs(known_values(straight)).max()
    for expected, found in zip(turn_faces(straight.velocity, how, vector=True), turned.velocity, strict=True):
        assert np.abs(expected - found).max() <= 1e-6 * largest
    p = turn(straight.pressure, how)
    assert np.abs(turned.pressure - p).max() <= 1e-7 * np.abs(p).max()


@pytest.mark.parametrize("kind", ["tilted wall", "closed pockets", "porous", "flat ball", "open sides"])
def test_solvers_agree(kind):
    case = zoo.build(kind, 0)
    one, other = (project(*case, solver=solver, tolerance=1e-10) for solver in SOLVERS)
    assert one.info.converged
    assert other.info.converged
    largest = np.abs(one.pressure).max()
    assert np.abs(one.pressure - other.pressure).max() <= 1e-7 * largest
    speed = np.abs(known_values(one)).max()
    assert np.abs(known_values(one) - known_values(other)).max() <= 1e-6 * speed


def test_threads_do_not_matter(on_threads):
    """Bit for bit, from assembly to the updated velocity."""
    case = zoo.build("closed pockets", 0)
    one, many = on_threads(1, project, *case), on_threads(64, project, *case)
    assert np.array_equal(one.pressure, many.pressure)
    assert np.array_equal(one.lost, many.lost)
    for a in range(3):
        assert np.array_equal(one.velocity[a], many.velocity[a])


@every_solver
def test_start_from_the_solution_takes_no_iteration(solver):
    case = zoo.cut_cells(24)
    cold = project(*case, solver=solver, tolerance=1e-8)
    warm = project(*case, solver=solver, tolerance=1e-7, start=cold.pressure)
    assert cold.info.iterations > 0
    assert warm.info.iterations == 0
    assert np.array_equal(known_values(warm), known_values(cold))


@both
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("surface", [True, False], ids=["free surface", "full"])
def test_liquid_and_solid_that_move_together_stay_together(grid, weights, surface):
    """A solid carried along by uniform liquid leaves it uniform, in a domain that lets it through."""
    velocity = (0.4, -0.3, 0.0 if grid.is_2d else 0.2)
    ball = Solid(
        Sphere(np.array(grid.size) * (0.5, 0.4, 0.5), 0.23 * grid.size[0]), lambda t: Pose(np.multiply(velocity, t))
    )
    sides = frozenset(s for s in SIDES if not (grid.is_2d and s[1] == "z"))
    boundary = measure(grid, [ball], 0.0, weights, sides)
    level = 0.61 * grid.size[1] if surface else 2 * grid.size[1]
    phi = (grid.cell_points()[..., 1] - level).astype(np.float32)
    uniform = Faces(*(np.full(grid.face_shape(a), v, np.float32) for a, v in enumerate(velocity)))
    projection = project(grid, uniform, phi, boundary, DT, tolerance=1e-10)
    for a in range(3):
        # the boundary's velocity is float32, and a difference of motions
        assert projection.velocity[a] == pytest.approx(velocity[a], abs=1e-6)


@both
def test_free_fall_in_an_open_box(grid):
    """p = 0 all around: nothing holds the liquid, and nothing is changed by the last digit."""
    sides = frozenset(s for s in SIDES if not (grid.is_2d and s[1] == "z"))
    boundary = measure(grid, [], open_sides=sides)
    fall = Faces(*(np.full(grid.face_shape(a), g, np.float32) for a, g in enumerate((0.03, -0.0981, 0.0))))
    projection = project(grid, fall, np.full(grid.shape, -1, np.float32), boundary, DT)
    for a in range(3):
        assert np.array_equal(projection.velocity[a], fall[a])
    assert not projection.pressure.any()


@both
def test_constant_surface_pressure_only_shifts(grid):
    case = cut_scene(grid, open_sides=frozenset())
    without = project(*case, tolerance=1e-11)
    under = project(*case, surface_pressure=1e4, tolerance=1e-11)
    unknown = assemble(*case).unknown
    shift = (under.pressure - without.pressure)[unknown]
    assert shift == pytest.approx(1e4, abs=1e-6 * max(1e4, np.abs(without.pressure).max()))
    largest = float(np.abs(known_values(without)).max())
    assert known_values(under) == pytest.approx(known_values(without), abs=2e-6 * largest)


@every_solver
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("ends", [(1.5, 8.5), (2.01, 7.5), (1.0, 8.0)])
def test_pressure_difference_drives_a_column(solver, axis, ends):
    """Between two surfaces L apart, p₁ − p₂ moves a column by Δt (p₁ − p₂)/(ρ L), at once and everywhere."""
    shape, h = [2, 2, 2], 0.1
    shape[axis] = 10
    grid = Grid(tuple(shape), h)
    x = grid.cell_points()[..., axis] / h
    phi = (h * np.maximum(ends[0] - x, x - ends[1])).astype(np.float32)
    applied = np.where(x < 5, 300.0, 100.0)
    still = grid.zeros_faces()
    projection = project(
        grid, still, phi, measure(grid, []), DT, surface_pressure=applied, solver=solver, tolerance=1e-12
    )
    speed = DT / 1000.0 * 200.0 / ((ends[1] - ends[0]) * h)
    assert projection.velocity[axis][projection.known[axis]] == pytest.approx(speed, rel=2e-6)
    for a in range(3):
        if a != axis:
            assert np.abs(projection.velocity[a]).max() <= 1e-6 * speed


@every_solver
@pytest.mark.parametrize("rest", [0.3, 1e-2, 1e-4, 1e-6])
def test_surface_pressure_is_right_however_near_the_surface_is(solver, rest):
    """At the default tolerance, with a surface `rest` cells from a centre: p_s/θ must not set what is small."""
    grid = Grid((10, 2, 2), 0.1)
    x = grid.cell_points()[..., 0] / grid.h
    phi = (grid.h * np.maximum(1.5 - rest - x, x - 8.5)).astype(np.float32)
    applied = np.where(x < 5, 300.0, 100.0)
    projection = project(grid, grid.zeros_faces(), phi, measure(grid, []), DT, surface_pressure=applied, solver=solver)
    speed = DT / 1000.0 * 200.0 / ((7 + rest) * grid.h)
    assert projection.velocity.x[projection.known.x] == pytest.approx(speed, rel=1e-5)


@both
def test_nothing_happens_without_liquid(grid):
    _, velocity, phi, boundary, dt = cut_scene(grid)
    projection = project(grid, velocity, np.abs(phi) + 0.01, boundary, dt)
    assert projection.info.converged
    assert projection.info.unknowns == 0
    assert not projection.pressure.any()
    assert not any(k.any() for k in projection.known)
    for a in range(3):
        assert np.array_equal(projection.velocity[a], velocity[a])


@both
def test_arguments_are_not_written_to(grid):
    case = cut_scene(grid)
    _, velocity, phi, boundary, _ = case
    arrays = [*velocity, phi, boundary.phi, *boundary.open, *boundary.velocity]
    before = [a.copy() for a in arrays]
    project(*case)
    for a, b in zip(arrays, before, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "value"), [("dt", 0.0), ("dt", np.nan), ("density", -1.0), ("density", np.inf), ("solver", "jacobi")]
)
def test_bad_numbers_are_named(name, value):
    arguments = dict(zip(("grid", "velocity", "phi", "boundary", "dt"), cut_scene(GRIDS["2-D"]), strict=True))
    with pytest.raises(ValueError, match=name):
        project(**(arguments | {name: value}))


def test_fields_of_another_grid_are_refused():
    grid, velocity, phi, boundary, dt = cut_scene(GRIDS["3-D"])
    other = cut_scene(Grid((6, 6, 5), 0.1))
    with pytest.raises(ValueError, match="phi"):
        project(grid, velocity, other[2], boundary, dt)
    with pytest.raises(ValueError, match="velocity"):
        project(grid, other[1], phi, boundary, dt)
    with pytest.raises(ValueError, match="boundary"):
        project(grid, velocity, phi, other[3], dt)


@both
def test_uniform_flow_beside_a_slope_slips_into_it(grid):
    """Project, extrapolate, constrain: flow along a tilted floor is continued into the floor unchanged."""
    slope = np.array([1.0, 0.3, 0.0]) / np.hypot(1, 0.3)
    floor = Solid(HalfSpace((0, 0.15 * grid.size[1], 0), (-0.3, 1, 0)))
    sides = {"-x", "+x", "+y"}
    boundary = measure(grid, [floor], open_sides=sides)
    flow = Faces(*(np.full(grid.face_shape(a), 2 * slope[a], np.float32) for a in range(3)))
    full = np.full(grid.shape, -1, np.float32)
    projection = project(grid, flow, full, boundary, DT, tolerance=1e-10)
    spread, _ = extrapolate(projection.velocity, projection.known, max(grid.shape))
    velocity = constrain(spread, boundary)
    for a in range(3):
        assert projection.velocity[a] == pytest.approx(flow[a], abs=2e-6)
        inside = tuple(slice(1, -1) if d == a else slice(None) for d in range(3))
        assert velocity[a][inside] == pytest.approx(flow[a][inside], abs=4e-6)


@both
def test_after_the_pipeline_no_solid_is_entered(grid):
    """Fluid that fell onto a still ball: in closed faces the normal component is the ball's, which is zero."""
    case = cut_scene(grid, moving=False)
    _, _, _, boundary, _ = case
    projection = project(*case)
    spread, _ = extrapolate(projection.velocity, projection.known, 4)
    velocity = constrain(spread, boundary)
    for a in range(3):
        kept = boundary.open[a] > 0
        assert np.array_equal(velocity[a][kept], spread[a][kept])
        sides = np.moveaxis(velocity[a], a, 0)[[0, -1]], np.moveaxis(boundary.open[a], a, 0)[[0, -1]]
        assert not sides[0][sides[1] == 0].any()


def test_piston_drives_its_liquid():
    """A wall that moves in at one end of a channel open at the other pushes the liquid through at its own speed."""
    grid = Grid((16, 4, 4), 0.1)
    piston = Solid(Box((-1, -1, -1), (0.37, 1, 1)), lambda t: Pose((0.5 * t, 0, 0)))
    boundary = measure(grid, [piston], open_sides={"+x"})
    projection = project(grid, grid.zeros_faces(), np.full(grid.shape, -1, np.float32), boundary, DT, tolerance=1e-10)
    assert projection.velocity.x[projection.known.x] == pytest.approx(0.5, rel=1e-5)
    assert np.abs(projection.velocity.y).max() < 1e-6
    assert projection.lost.size == 0


@pytest.mark.parametrize("spoil", ["velocity", "phi", "start", "surface_pressure"])
@pytest.mark.parametrize("everywhere", [True, False])
def test_not_a_number_is_never_an_answer(spoil, everywhere):
    """A maximum hides NaN: it must be refused by name, or at least not be called converged."""
    grid = Grid((6, 6, 6), 0.1)
    given = {name: np.zeros(grid.shape) for name in ("start", "surface_pressure")}
    given["phi"] = (grid.cell_points()[..., 1] - 0.31).astype(np.float32)
    velocity = grid.zeros_faces()
    velocity.y[:] = -0.1
    target = velocity.x if spoil == "velocity" else given[spoil]
    target[... if everywhere else (2, 2, 2)] = np.nan
    phi = given.pop("phi")
    with pytest.raises(ValueError, match="right-hand side" if spoil == "velocity" else spoil):
        project(grid, velocity, phi, measure(grid, []), DT, **given)


@pytest.mark.parametrize("wrong", [-1.0, 0.0, 1.0, 5, float("nan")])
def test_a_tolerance_that_makes_no_sense_is_refused(wrong):
    grid = Grid((4, 4, 4), 0.1)
    with pytest.raises(ValueError, match="tolerance"):
        project(grid, grid.zeros_faces(), -np.ones(grid.shape), measure(grid, []), DT, tolerance=wrong)
