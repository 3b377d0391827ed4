"""The part of a domain that a step looks at."""

import numpy as np
import pytest

import paddlewheel as pw
from paddlewheel.grid import window as windows
from paddlewheel.grid.window import Window, window_around
from paddlewheel.method import ADVECTION
from paddlewheel.types import BodyFaces, Boundary, Faces, Grid

DOMAIN = Grid((40, 48, 64), 0.1)
PART = Window(Grid((8, 16, 24), 0.1, (8, 24, 16)), DOMAIN)
NOTHING = Boundary(np.ones(DOMAIN.node_shape, np.float32), DOMAIN.zeros_faces(), DOMAIN.zeros_faces())


def points(*cells):
    return (0.1 * np.array(cells)).astype(np.float32)


def test_a_window_has_the_points_and_a_margin_around_them():
    window = window_around(DOMAIN, points((20.5, 30.5, 33.5), (22.5, 30.5, 33.5)), 3, NOTHING)
    assert window.within.tolist() == [[16, 28], [24, 36], [24, 40]]
    assert window.grid == Grid((12, 12, 16), 0.1, (16, 24, 24))
    assert not window.is_all


def test_a_window_ends_at_the_sides_of_the_domain():
    window = window_around(DOMAIN, points((0.5, 47.5, 63.5)), 9, NOTHING)
    assert window.within.tolist() == [[0, 12], [32, 48], [48, 64]]


def test_a_window_has_the_bodies_in_it():
    faces = Faces(*(np.zeros([4 + (a == d) for d in range(3)], np.float32) for a in range(3)))
    gone = BodyFaces((0, 0, 0), *[Faces(*[np.zeros((0, 0, 0), np.float32)] * 3)] * 2)
    boundary = NOTHING._replace(bodies=(BodyFaces((30, 2, 40), faces, faces), gone))
    window = window_around(DOMAIN, points((20.5, 30.5, 33.5)), 3, boundary)
    assert window.within.tolist() == [[16, 36], [0, 36], [24, 44]]


@pytest.mark.parametrize(
    "position", [points((1, 1, 1), (39, 47, 63)), np.empty((0, 3), np.float32), points((np.nan,) * 3)]
)
def test_a_window_that_would_be_large_is_everything(position):
    assert window_around(DOMAIN, position, 3, NOTHING) == Window(DOMAIN, DOMAIN)


def test_fields_are_cut_out_where_the_grid_says_they_are():
    x, y, z = (np.moveaxis(DOMAIN.cell_points(), -1, 0)[a] for a in range(3))
    for whole, part in zip((x, y, z), np.moveaxis(PART.grid.cell_points(), -1, 0), strict=True):
        assert np.array_equal(PART.cells(whole), part)
    assert np.array_equal(PART.nodes(DOMAIN.node_points()[..., 1]), PART.grid.node_points()[..., 1])
    faces = PART.faces([DOMAIN.face_points(a)[..., a] for a in range(3)])
    assert all(np.array_equal(f, PART.grid.face_points(a)[..., a]) for a, f in enumerate(faces))


def test_what_is_put_back_is_zero_beyond():
    ones = np.ones(PART.grid.shape, np.float32)
    whole = PART.on_cells(ones, 2.0)
    assert whole.shape == DOMAIN.shape
    assert (whole == 1).sum() == ones.size
    assert (whole == 2).sum() == whole.size - ones.size
    assert np.array_equal(PART.cells(whole), ones)
    faces = PART.on_faces([np.ones(PART.grid.face_shape(a), np.float32) for a in range(3)])
    assert [f.sum() for f in faces] == [9 * 16 * 24, 8 * 17 * 24, 8 * 16 * 25]


def test_everything_is_not_copied():
    everything, field = Window(DOMAIN, DOMAIN), np.zeros(DOMAIN.shape)
    assert everything.cells(field) is field
    assert everything.on_cells(field) is field
    assert everything.boundary(NOTHING, moving=True) is NOTHING


COLUMN = pw.Liquid(pw.Box((0, 0, 0), (0.3, 0.4, 1)))
SCENES = {
    "column": [COLUMN],
    "body": [COLUMN, pw.RigidBody(pw.Box((0.05, 0.35, 0.3), (0.2, 0.45, 0.6)), density=300.0)],
    "inflow": [COLUMN, pw.Inflow(pw.Box((0.5, 0.1, 0), (0.6, 0.2, 1)), velocity=(-1.0, 0.0, 0.0))],
    "plunger": [
        COLUMN,
        pw.Solid(pw.Box((-0.1, 0.35, 0.3), (0.1, 0.6, 0.6)), motion=lambda t: pw.Pose((0, -0.3 * t, 0))),
    ],
    "sponge": [COLUMN, pw.Solid(pw.Box((-0.1, -0.1, 0.3), (0.1, 0.1, 0.6)), separates=False)],
    "force": [COLUMN, pw.Force(lambda points, t: np.stack([points[:, 1], points[:, 0], 0 * points[:, 2]], axis=1))],
}


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", [{"advection": name} for name in ADVECTION] + [{"wall_separation": True}])
def test_a_step_in_a_window_is_that_of_the_whole_domain(name, method, monkeypatch):
    # the window has all z, so that cells are added up in the same order
    scene = pw.Scene((1, 1, 1), 24, method=pw.Method(**method, cfl=1), items=SCENES[name])
    part, whole = pw.Simulation(scene), None
    for _ in range(3):
        part.step()
    monkeypatch.setattr(windows, "WORTHWHILE", 0.0)
    whole = pw.Simulation(scene)
    for _ in range(3):
        whole.step()
    assert np.prod(part.state.within[:, 1] - part.state.within[:, 0]) < 0.8 * 24**3
    assert np.prod(whole.state.within[:, 1] - whole.state.within[:, 0]) == 24**3
    assert np.array_equal(part.state.particles.position, whole.state.particles.position)
    assert np.array_equal(part.state.particles.velocity, whole.state.particles.velocity)
    assert np.array_equal(part.state.pressure, whole.state.pressure)
    for one, other in zip(
        part.state.velocity + part.state.shift, whole.state.velocity + whole.state.shift, strict=True
    ):
        assert np.array_equal(one, other)
