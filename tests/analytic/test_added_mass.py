"""Rigid bodies in the pressure solve: added mass, rest and momentum, on the first step.  B07 §3."""

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.bodies import velocities, with_velocities
from paddlewheel.grid.window import Window
from paddlewheel.physics.coupling import yielding
from paddlewheel.step import Stepper

DT, GRAVITY = 0.01, 9.81
MIDDLE, ODD = (0.5, 0.5, 0.5), (0.3, 0.2, 0.4)  # of a cell: where the centre of things is


def round_thing(center, radius, dimensions):
    x, y, _ = center
    return pw.Sphere(center, radius) if dimensions == 3 else pw.Cylinder((x, y, -1), (x, y, 2), radius)


def first_step(scene, phi, dt=DT):
    """The projection of the first step, and the bodies after it, if the liquid is where φ < 0 and pulled with them."""
    stepper, grid = Stepper(scene), scene.grid
    velocity = grid.zeros_faces()
    for u, g in zip(velocity, scene.gravity, strict=True):
        u += np.float32(g * dt)
    bodies = stepper.bodies.start()
    boundary = stepper.boundary(0.0, bodies)
    bodies = stepper.bodies.pulled(bodies, 0.0, dt)
    projection, _, bodies, boundary, _ = stepper.projected(Window(grid, grid), velocity, phi, boundary, bodies, 0.0, dt)
    assert projection.info.converged
    return projection, bodies, boundary


def acceleration(cells, ratio, dimensions, weights, offset):
    """Of a ball of `cells` radius in a concentric shell twice as wide, over the exact one."""
    a, b = 0.5, 1.0
    h = a / cells
    n = 4 * cells + 4
    counts = (n, n, n if dimensions == 3 else 1)
    center = np.array([0.5 * n * h] * 3) + h * np.array(offset)
    ball, shell = (round_thing(tuple(center), r, dimensions) for r in (a, b))
    scene = pw.Scene(
        [h * m for m in counts], counts, method=pw.Method(weights=weights, tolerance=1e-8),
        items=[pw.Solid(~shell), pw.Liquid(shell), pw.RigidBody(ball, density=1000 * ratio)],
    )  # fmt: skip
    _, (body,), _ = first_step(scene, np.full(counts, -1, np.float32))
    C = 0.5 * (b**3 + 2 * a**3) / (b**3 - a**3) if dimensions == 3 else (b**2 + a**2) / (b**2 - a**2)
    exact = -(ratio - 1) / (ratio + C) * GRAVITY
    return body.velocity[1] / DT / exact


@pytest.mark.parametrize("ratio", [0.01, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize(
    ("weights", "limits"), [("volume", {4: 0.03, 8: 0.01, 12: 0.005}), ("area", {4: 0.06, 8: 0.015, 12: 0.01})]
)
def test_added_mass(weights, limits, dimensions, ratio):
    """a = (s − 1)/(s + C) g, with C of a ball or a cylinder in a concentric shell."""
    for cells, limit in limits.items():
        if dimensions == 3 and cells == 12:
            continue  # see the slow test
        for offset in (MIDDLE, ODD):
            if (weights, dimensions, cells, ratio) == ("volume", 3, 4, 0.01):
                limit = 0.036  # a ball of four cells' radius and a hundredth of the density is off by 3.5 %
            assert acceleration(cells, ratio, dimensions, weights, offset) == pytest.approx(1, abs=limit)


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "limit"), [("volume", 0.005), ("area", 0.01)])
def test_added_mass_at_twelve_cells(weights, limit):
    for ratio in (0.01, 2.0):
        assert acceleration(12, ratio, 3, weights, ODD) == pytest.approx(1, abs=limit)


@pytest.mark.parametrize("weights", ["area", "volume", "length"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_what_weighs_as_much_as_water_rests_in_it(weights, dimensions):
    """A tilted box and a ball, off the cells, in a tank with a flat surface: u = 0 and V = 0."""
    n = 20
    counts = (n, n, n if dimensions == 3 else 1)
    box = pw.Box((0.2, 0.2, 0.3), (0.45, 0.4, 0.6)).moved(rotate=(np.cos(0.2), 0, 0, np.sin(0.2)), about=(0.3, 0.3, 0))
    if dimensions == 2:
        box = pw.Box((0.2, 0.2, -1), (0.45, 0.4, 2)).moved(rotate=(np.cos(0.2), 0, 0, np.sin(0.2)), about=(0.3, 0.3, 0))
    scene = pw.Scene(
        [m / n for m in counts], counts, method=pw.Method(weights=weights, tolerance=1e-10),
        items=[
            pw.Liquid(pw.HalfSpace((0, 0.73, 0), (0, 1, 0))),
            pw.RigidBody(box, density=1000),
            pw.RigidBody(round_thing((0.7, 0.35, 0.5), 0.13, dimensions), density=1000),
        ],
    )  # fmt: skip
    phi = (scene.grid.cell_points()[..., 1] - 0.73).astype(np.float32)
    projection, bodies, _ = first_step(scene, phi)
    fastest = max(np.abs(u[k]).max(initial=0) for u, k in zip(projection.velocity, projection.known, strict=True))
    assert fastest <= 1e-6 * GRAVITY * DT
    assert np.abs(velocities(bodies)).max() <= 1e-6 * GRAVITY * DT


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_a_push_on_one_body_moves_the_other_as_foretold(gap):
    """By the reply of a single V-cycle: what holds bodies is found with it, before the pressure is solved for again."""
    boxes = [pw.Box((0.4, y, 0), (0.6, y + 0.12, 1)) for y in (0.3, 0.42 + gap)]
    items = [pw.Liquid(pw.Box((0, 0, 0), (1, 1, 1))), *(pw.RigidBody(box, 500.0) for box in boxes)]
    scene = pw.Scene((1, 1, 1 / 32), (32, 32, 1), gravity=(0, 0, 0), items=items, method=pw.Method(tolerance=1e-9))
    stepper, grid, phi = Stepper(scene), scene.grid, np.full(scene.grid.shape, -1, np.float32)
    bodies = stepper.bodies.start()
    boundary = stepper.boundary(0.0, bodies)
    coupled = stepper.bodies.coupled(bodies, boundary)
    for motion in (0, 1, 5):
        push = np.zeros((2, 6))
        push[0, motion] = 1.0
        pushed = with_velocities(bodies, [body.inverse @ p for body, p in zip(coupled, push, strict=True)])
        projection, _, after, *_ = stepper.projected(
            Window(grid, grid), grid.zeros_faces(), phi, boundary, pushed, 0.0, DT
        )
        foretold = np.einsum("nimj,mj->ni", yielding(coupled, projection.reply), push)
        assert velocities(after) == pytest.approx(foretold, abs=0.15 * np.abs(foretold).max())
        if motion == 1:
            assert after[1].velocity[1] == pytest.approx(foretold[1, 1], rel=0.2)


@pytest.mark.parametrize("ratio", [1e-3, 0.5, 5.0])
def test_momentum_of_a_blob_with_a_body_in_it_is_kept(ratio):
    """Nothing touches a wall: what the solve takes from the liquid, the body gets; turning as well."""
    n = 32
    rng = np.random.default_rng(4)
    body = pw.Box((0.4, 0.45, 0.4), (0.6, 0.6, 0.55)).moved(
        rotate=(np.cos(0.3), 0, np.sin(0.3), 0), about=(0.5, 0.5, 0.5)
    )
    scene = pw.Scene(
        (1, 1, 1), n, gravity=(0, 0, 0), method=pw.Method(weights="volume", tolerance=1e-10),
        items=[pw.Liquid(pw.Sphere((0.5, 0.5, 0.5), 0.36)), pw.RigidBody(body, 1000 * ratio, velocity=(1, -2, 0.5))],
    )  # fmt: skip
    grid, stepper = scene.grid, Stepper(scene)
    phi = (np.linalg.norm(grid.cell_points() - 0.5, axis=-1) - 0.36).astype(np.float32)
    bodies = stepper.bodies.start()
    boundary = stepper.boundary(0.0, bodies)
    coupled = stepper.bodies.coupled(bodies, boundary)[0]
    velocity = pw.Faces(*(rng.standard_normal(u.shape).astype(np.float32) for u in grid.zeros_faces()))
    projection, _, after, *_ = stepper.projected(Window(grid, grid), velocity, phi, boundary, bodies, 0.0, DT)

    padded = np.pad(phi, 1, mode="edge").astype(float)
    gained, scale = np.zeros(6), 0.0
    for a in range(3):
        low, high = (np.moveaxis(padded, a, 0)[s] for s in (slice(-1), slice(1, None)))
        inner = (slice(None), slice(1, -1), slice(1, -1))
        low, high = np.moveaxis(low[inner], 0, a), np.moveaxis(high[inner], 0, a)
        wet, dry = np.minimum(low, high), np.maximum(low, high)
        with np.errstate(divide="ignore"):
            theta = np.where(dry < 0, 1.0, np.clip(wet / (wet - dry), 1e-6, 1))
        mass = scene.density * grid.h**3 * boundary.open[a] * theta * projection.known[a]
        change = mass * (projection.velocity[a].astype(float) - velocity[a])
        r = grid.face_points(a) - bodies[0].position
        gained[a] += change.sum()
        gained[3:] += np.cross(r, np.eye(3)[a]).reshape(-1, 3).T @ change.ravel()
        scale += np.abs(change).sum()
    M = np.linalg.inv(coupled.inverse)
    gained += M @ (velocities(after) - velocities(bodies))[0]
    assert np.abs(gained[:3]).max() <= 1e-5 * scale
    assert np.abs(gained[3:]).max() <= 1e-5 * scale * 0.36
