"""What is shown of states: closed surfaces in the right place that face outwards."""

import numpy as np
import pytest
import trimesh

import paddlewheel as pw
from paddlewheel.output.export.shape_mesh import shape_mesh
from paddlewheel.output.viewer import drawn
from paddlewheel.output.viewer.nets import surface_net

N = 24
H = 1 / N


def centres(n=N):
    return pw.Grid((n, n, n), 1 / n).cell_points()


def as_mesh(surface):
    return trimesh.Trimesh(surface[0], surface[1], process=False)


def test_a_ball_is_closed_and_has_its_volume():
    phi = np.linalg.norm(centres() - 0.5, axis=-1) - 0.3
    mesh = as_mesh(surface_net(phi, 0.5 * H, H))
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(4 / 3 * np.pi * 0.3**3, rel=0.03)  # positive: it faces outwards
    assert np.abs(np.linalg.norm(mesh.vertices - 0.5, axis=1) - 0.3).max() < 0.06 * H


def test_the_error_of_a_ball_shrinks_with_the_square_of_the_cells():
    def error(n):
        phi = np.linalg.norm(centres(n) - 0.5, axis=-1) - 0.3
        vertices, _ = surface_net(phi, 0.5 / n, 1 / n)
        return np.abs(np.linalg.norm(vertices - 0.5, axis=1) - 0.3).mean()

    assert error(16) / error(32) > 3.5


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_plane_is_exact_and_faces_up(axis, sign):
    phi = sign * (centres()[..., axis] - 0.4)
    vertices, faces = surface_net(phi, 0.5 * H, H)
    np.testing.assert_allclose(vertices[:, axis], 0.4, atol=1e-6)
    normals = trimesh.Trimesh(vertices, faces, process=False).face_normals
    np.testing.assert_allclose(normals[:, axis], sign, atol=1e-6)


def test_nothing_has_no_surface():
    vertices, faces = surface_net(np.ones((4, 4, 4)), 0.0, 1.0)
    assert vertices.shape == (0, 3)
    assert faces.shape == (0, 3)


def test_water_in_a_tank_is_a_box_up_to_the_sides():
    """Its edges at the sides are sharp, so its volume is exact."""
    phi = (centres()[..., 1] - 0.4).astype(np.float32)
    mesh = as_mesh(drawn.liquid(phi, H))
    assert mesh.is_watertight
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0], [1, 0.4, 1]], atol=1e-6)
    assert mesh.volume == pytest.approx(0.4, rel=1e-3)


def test_a_full_tank_is_its_box():
    mesh = as_mesh(drawn.liquid(np.full((4, 4, 4), -1, np.float32), 0.25))
    assert mesh.volume == pytest.approx(1.0, abs=1e-6)


def test_water_ends_half_a_cell_within_walls():
    scene = pw.Scene((1, 1, 1), N, items=[pw.Solid(pw.Box((-1, -1, -1), (0.5, 2, 2)))])
    phi = np.full((N, N, N), -1, np.float32)
    mesh = as_mesh(drawn.liquid(phi, H, drawn.static_distance(scene)))
    assert mesh.bounds[0, 0] == pytest.approx(0.5 - 0.5 * H, abs=1e-5)


def test_walls_of_a_plane_are_closed_at_its_sides():
    """It is looked at from the front, where else nothing would be seen of them."""
    scene = pw.Scene((1, 0.5, 0.05), (20, 10, 1), items=[pw.Solid(pw.Box((0.5, -1, -1), (2, 0.2, 1)))])
    mesh = as_mesh(drawn.walls(drawn.static_distance(scene), 0.05, closed=True))
    np.testing.assert_allclose(mesh.bounds, [[0.5, 0, 0], [1, 0.2, 0.05]], atol=1e-5)
    assert mesh.volume == pytest.approx(0.5 * 0.2 * 0.05 - 0.5 * 0.05**3, rel=1e-3)  # half a cell is cut off its corner
    assert mesh.face_normals[:, 2].max() == pytest.approx(1)


def test_water_in_a_plane_is_behind_the_front_of_what_floats_in_it():
    """Which ends at the sides of the plane; elsewhere the water does so too."""
    mesh = as_mesh(drawn.liquid(np.full((8, 8, 1), -1, np.float32), 0.25))
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 0.0125], [2, 2, 0.2375]], atol=1e-6)


def test_a_cylinder_is_round_and_has_edges():
    """Each side of an edge has vertices of its own, all others are shared; it is the same surface."""
    shape = pw.Cylinder((0.5, 0.2, 0.5), (0.5, 0.6, 0.5), 0.2)
    vertices, faces = shape_mesh(shape, pw.Grid((N, N, N), H))
    surface = drawn.body(vertices, faces)
    mesh, around = trimesh.Trimesh(*surface[:2]), np.hypot(*(surface.vertices - 0.5)[:, [0, 2]].T) > 0.1
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(np.pi * 0.2**2 * 0.4, rel=0.01)
    normals = as_mesh(surface).vertex_normals[around]
    assert np.abs(np.abs(normals[:, 1]) - 0.5).min() > 0.49  # all up, down or sideways


def test_particles_are_thinned_out_only_if_there_are_many():
    few, many = (np.zeros((n, 3), np.float32) for n in (100, 3 * drawn.MOST_POINTS))
    assert len(drawn.particles(few)) == 100
    assert len(drawn.particles(many)) == drawn.MOST_POINTS


def test_smoke_is_where_it_is_dense():
    density, temperature = np.zeros((2, 8, 8, 8), np.float32)
    density[2, 3, 4], temperature[2, 3, 4] = 2.0, -25.0
    puffs = drawn.smoke(density, temperature, 0.1, (2.0, 50.0))
    np.testing.assert_allclose(puffs.centres, [[0.25, 0.35, 0.45]], atol=1e-6)
    assert puffs.opacity == pytest.approx(1 - np.exp(-0.6), rel=1e-5)
    assert puffs.warmth == pytest.approx(-0.5)


def test_a_box_has_twelve_edges():
    edges = drawn.edges((1, 2, 3))
    assert edges.shape == (12, 2, 3)
    np.testing.assert_allclose(np.sort(np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1)), [1] * 4 + [2] * 4 + [3] * 4)
