"""Meshes of the surface and of shapes: closed, in place, with the right velocities."""

import numpy as np
import pytest
import trimesh
from exported import BALL, frame_of, liquid_scene, liquid_state

from paddlewheel.items import Liquid, RigidBody, Solid
from paddlewheel.method import Method
from paddlewheel.output.export import Frames
from paddlewheel.output.export.rigid import Rigids
from paddlewheel.output.export.shape_mesh import shape_mesh
from paddlewheel.output.export.surface import BEYOND, closed, into_solids, mesh_of
from paddlewheel.physics.seeding import seed
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.solids.mesh import Mesh as MeshShape
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere, Torus
from paddlewheel.types import Body, Grid, Particles

FAR = 10.0


def as_trimesh(mesh):
    return trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)


def test_a_ball_is_a_closed_mesh_of_its_size_and_carries_the_flow():
    mesh = frame_of("liquid").surface
    solid = as_trimesh(mesh)
    assert solid.is_watertight
    assert np.abs(BALL.distance(mesh.vertices.astype(float))).max() < 0.05 / 16
    x, y, z = mesh.vertices.T
    assert np.allclose(mesh.velocity, np.stack([1 + y, -x, 2 * z], axis=-1), atol=1e-5)
    outward = mesh.vertices - np.float32(BALL.center)
    assert (np.einsum("ij,ij->i", mesh.normals(), outward) > 0.19).all()


def test_the_volume_of_a_ball_is_of_second_order():
    errors = []
    for cells in (16, 32):
        scene = liquid_scene(cells)
        mesh = Frames(scene, ("surface",)).make(1, liquid_state(scene)).surface
        errors.append(1 - as_trimesh(mesh).volume / (4 / 3 * np.pi * BALL.radius**3))
    assert 0 < errors[1] < errors[0] / 3.5 < 0.02


@pytest.mark.parametrize("shape", [(12, 10, 8), (12, 10, 1)])
def test_liquid_that_touches_all_sides_ends_there(shape):
    """φ of a surface at mid-height: a box with sharp edges, whose bounds are those of the domain and of the surface."""
    grid = Grid(shape, 0.1)
    phi = (grid.cell_points()[..., 1] - 0.53).astype(np.float32)
    mesh = mesh_of(phi, grid.h, grid.zeros_faces(), grid.h)
    assert as_trimesh(mesh).is_watertight
    assert np.allclose(mesh.vertices.min(axis=0), 0, atol=1e-6)
    assert np.allclose(mesh.vertices.max(axis=0), (1.2, 0.53, 0.1 * shape[2]), atol=1e-6)
    assert as_trimesh(mesh).volume == pytest.approx(1.2 * 0.53 * 0.1 * shape[2], rel=1e-3)


def test_a_level_set_ends_at_the_sides_too():
    """Halfway between the last centre and the next; and it is a distance there, deep below the surface."""
    grid = Grid((12, 10, 8), 0.1)
    phi = (grid.cell_points()[..., 1] - 0.83).astype(np.float32)
    whole = closed(phi, grid.h)
    assert whole.shape == tuple(n + 2 * BEYOND for n in grid.shape)
    below = whole[:, BEYOND + 4, BEYOND + 4]
    x = (np.arange(len(below)) - BEYOND + 0.5) * grid.h
    assert np.allclose(below, np.maximum(np.maximum(-x, x - 1.2), -0.35), atol=1e-6)  # 0.35 m from the side in z
    assert (np.abs(np.diff(np.sign(whole), axis=0)).sum(axis=0)[BEYOND + 1 : BEYOND + 7, BEYOND:-BEYOND] == 4).all()
    inner = whole[(slice(BEYOND, -BEYOND),) * 3]
    assert np.array_equal(np.sign(inner), np.sign(phi))
    assert np.array_equal(inner[phi > -grid.h], phi[phi > -grid.h])


def test_liquid_reaches_half_a_cell_into_solids():
    grid = Grid((12, 10, 8), 0.1)
    floor = (grid.node_points()[..., 1] - 0.32).astype(np.float32)
    phi = into_solids(np.full(grid.shape, -FAR, np.float32), floor, grid.h)
    mesh = mesh_of(phi, grid.h, grid.zeros_faces(), grid.h)
    assert mesh.vertices[:, 1].min() == pytest.approx(0.27, abs=1e-3)


def test_no_liquid_is_no_mesh():
    grid = Grid((4, 4, 4), 0.1)
    assert len(mesh_of(np.full(grid.shape, FAR, np.float32), grid.h, grid.zeros_faces(), grid.h).faces) == 0


@pytest.mark.parametrize("cells", [12, 20, 40])
@pytest.mark.parametrize("smooth", [0.0, 0.7])
def test_the_surface_is_made_anew_from_particles(cells, smooth):
    """On a coarser grid, on the same and on one twice as fine: a ball as large as before, but for crumbs."""
    ball = Sphere((0.5, 0.5, 0.5), 0.3)
    scene = Scene(size=(1, 1, 1), cells=20, items=[Liquid(ball)])
    grid = scene.grid
    state = liquid_state(liquid_scene())
    state.phi = ball.distance(grid.cell_points().reshape(-1, 3)).reshape(grid.shape).astype(np.float32)
    state.velocity, state.bodies = grid.zeros_faces(), ()
    state.particles = Particles.at(seed(grid, ball.distance), np.zeros(3))
    before = state.particles.position.copy()
    mesh = Frames(scene, ("surface",), cells, smooth).make(1, state).surface
    assert np.array_equal(state.particles.position, before)
    solid = as_trimesh(mesh)
    assert solid.is_watertight
    largest = max(solid.split(), key=lambda part: part.volume)
    assert largest.volume == pytest.approx(solid.volume, rel=1e-3)
    assert solid.volume == pytest.approx(4 / 3 * np.pi * 0.3**3, rel=0.03 if cells > 12 else 0.05)
    assert np.abs(ball.distance(np.asarray(largest.vertices))).max() < 0.6 * max(grid.h, 1 / cells)


def test_smoothing_removes_bumps_and_leaves_planes():
    scene = Scene(size=(1, 1, 1), cells=16, items=[Liquid(Box((0, 0, 0), (1, 0.5, 1)))])
    state = liquid_state(liquid_scene())
    centres = scene.grid.cell_points()
    bumps = 0.01 * np.sin(8 * np.pi * centres[..., 0]) * np.sin(8 * np.pi * centres[..., 2])
    heights = {}
    for bumpy in (False, True):
        state.phi = np.float32(centres[..., 1] - 0.5 - bumpy * bumps)
        state.velocity, state.bodies = scene.grid.zeros_faces(), ()
        for smooth in (0.0, 1.5):
            x, y, z = Frames(scene, ("surface",), smooth=smooth).make(1, state).surface.vertices.T
            inside = (x > 0.1) & (x < 0.9) & (z > 0.1) & (z < 0.9) & (y > 0.1)
            heights[bumpy, smooth] = np.abs(y[inside] - 0.5).max()
    assert heights[False, 1.5] < 1e-4
    assert heights[True, 0.0] > 0.004
    assert heights[True, 1.5] < 0.1 * heights[True, 0.0]


SHAPES = {
    "box": (Box((0.1, 0.1, 0.1), (0.4, 0.3, 0.2)), 0.3 * 0.2 * 0.1),
    "ball": (Sphere((0.5, 0.5, 0.5), 0.2), 4 / 3 * np.pi * 0.008),
    "cylinder": (Cylinder((0.2, 0.2, 0.2), (0.6, 0.5, 0.2), 0.1), np.pi * 0.01 * 0.5),
    "capsule": (Capsule((0.3, 0.3, 0.3), (0.6, 0.3, 0.3), 0.1), np.pi * 0.01 * 0.3 + 4 / 3 * np.pi * 0.001),
    "torus": (Torus((0.5, 0.5, 0.5), (0, 1, 0), 0.3, 0.1), 2 * np.pi**2 * 0.3 * 0.01),
    "moved": (Box((0.1, 0.1, 0.1), (0.4, 0.3, 0.2)).moved(rotate=(0.6, 0.8, 0, 0)), 0.3 * 0.2 * 0.1),
    "difference": (Box((0.2, 0.2, 0.2), (0.8, 0.8, 0.8)) - Sphere((0.5, 0.5, 0.5), 0.2), 0.216 - 4 / 3 * np.pi * 0.008),
    "without end": (HalfSpace((0, 0.25, 0), (0, 1, 0)), 0.25),
    "hull": (~Box((0.1, 0.1, 0.1), (0.9, 0.9, 0.9)), 1 - 0.8**3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_become_closed_meshes_of_their_volume(name):
    shape, volume = SHAPES[name]
    vertices, faces = shape_mesh(shape, Grid((20, 20, 20), 0.05))
    solid = trimesh.Trimesh(vertices, faces, process=False)
    assert solid.is_watertight
    assert solid.volume == pytest.approx(volume, rel=0.02)


def test_a_mesh_stays_what_it_is():
    box = trimesh.creation.box(bounds=((0.1, 0.1, 0.1), (0.4, 0.3, 0.2)))
    vertices, faces = shape_mesh(MeshShape((box.vertices, box.faces)), Grid((20, 20, 20), 0.05))
    assert np.array_equal(vertices, box.vertices)
    assert np.array_equal(faces, box.faces)


def test_a_plane_has_cross_sections_as_thick_as_the_slab():
    vertices, faces = shape_mesh(Sphere((0.5, 0.5, 0.0), 0.3), Grid((20, 20, 1), 0.05))
    solid = trimesh.Trimesh(vertices, faces, process=False)
    radius = np.sqrt(0.3**2 - 0.025**2)
    assert solid.is_watertight
    assert np.allclose(solid.bounds, [[0.5 - radius] * 2 + [0], [0.5 + radius] * 2 + [0.05]], atol=2e-3)
    assert solid.volume == pytest.approx(np.pi * radius**2 * 0.05, rel=0.02)
    assert solid.area == pytest.approx(2 * np.pi * radius * (0.05 + radius), rel=0.01)
    corners = vertices[faces]
    flat = np.ptp(corners[:, :, 2], axis=1) == 0
    upward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    assert (upward[flat] * (corners[flat, 0, 2] - 0.025) > 0).all()  # none is folded over, none is without area


def test_bodies_are_where_they_are_and_turn():
    """x = R (x_drawn − center) + position;  v + ω × (x − position)."""
    body, solid = (frame_of("liquid").meshes()[name] for name in ("body_0", "solid_1"))
    assert np.allclose(body.vertices.min(axis=0), (0.05, 0.7, 0.15), atol=1e-6)
    assert np.allclose(body.vertices.max(axis=0), (0.25, 0.9, 0.25), atol=1e-6)
    x, y, _ = (body.vertices - [0.15, 0.8, 0.2]).T
    assert np.allclose(body.velocity, np.stack([0.1 - 2 * y, 0.2 + 2 * x, 0 * x + 0.3], axis=-1), atol=1e-6)
    assert np.allclose(solid.vertices.mean(axis=0), (0.4, 0.1, 0.25), atol=1e-3)
    assert np.allclose(solid.velocity, (1, 0, 0), atol=1e-6)


def test_solids_that_move_are_told_from_those_that_do_not():
    """Also those without an end, of which the viewer shows what is in the domain."""
    slide = Solid(HalfSpace((0, 0.25, 0), (0, 1, 0)), motion=lambda t: Pose((t, 0, 0), (1, 0, 0, 0)))
    ball = RigidBody(Sphere((0.5, 0.6, 0.5), 0.2), 500.0)
    still = Body(np.array([0.5, 0.6, 0.5]), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
    scene = Scene((1, 1, 1), 8, items=[Solid(Sphere((0.5, 0.6, 0.5), 0.2)), ball, slide])
    assert [shaped.name for shaped in Rigids(scene).shaped] == ["solid_0", "body_0", "solid_2"]
    body, moving = Rigids(scene, still=False).at(0.5, [still])
    assert (body.name, moving.name) == ("body_0", "solid_2")
    assert np.allclose([moving.placed().vertices.min(axis=0), moving.placed().vertices.max(axis=0)],
                       [(0.5, 0, 0), (1.5, 0.25, 1)], atol=0.02)  # fmt: skip
    assert np.allclose(body.placed().vertices.mean(axis=0), (0.5, 0.6, 0.5), atol=1e-3)


@pytest.mark.parametrize("cells", [(20, 20, 20), (20, 20, 1)])
def test_a_tank_that_turns_fills_the_domain_at_first(cells):
    """It is drawn about an axis in the middle, and has no end there; later it turns with its motion."""
    h = 1 / cells[0]

    def turning(t):
        return Pose((0.5, 0.5, 0.0), (np.cos(np.pi / 8 + t / 2), 0, 0, np.sin(np.pi / 8 + t / 2)))

    tank = Solid(~Box((-0.3, -0.3, -1), (0.3, 0.3, 2)), motion=turning)
    scene = Scene(tuple(n * h for n in cells), cells, items=[tank])
    (first,), (later,) = (Rigids(scene).at(t, ()) for t in (0.0, np.pi / 4))
    mesh = as_trimesh(first.placed())
    assert mesh.is_watertight
    assert np.allclose(mesh.bounds, [(0, 0, 0), scene.size], atol=0.02)
    assert mesh.volume == pytest.approx((1 - 0.6**2) * scene.size[2], rel=0.02)
    points = later.placed().vertices[:, :2] - 0.5
    assert np.abs(points).max() == pytest.approx(0.5**0.5, abs=0.03)  # the corners, by an eighth of a turn


@pytest.mark.parametrize("surface", ["surface-markers", "height-field"])
def test_where_only_the_surface_is_tracked_there_are_no_particles(surface):
    """Nor a surface on another grid, which would be made of them, and empty."""
    water = Liquid(Box((0, 0, 0), (1, 0.5, 1)))
    shape = ((1, 1, 0.125), (8, 8, 1)) if surface == "surface-markers" else ((1, 1, 1), 8)
    scene = Scene(*shape, method=Method(advection="explicit", surface=surface), items=[water])
    state = Simulation(scene).state
    frame = Frames(scene).make(1, state)
    assert frame.particles is None
    assert frame.surface.vertices[:, 1].max() == pytest.approx(0.5, abs=0.01)
    assert Frames(scene).available(state) == ["surface", "velocity"]
    with pytest.raises(ValueError, match="cells=12"):
        Frames(scene, cells=12)


@pytest.mark.parametrize("cells", [15, 20, 22])
def test_a_domain_need_not_be_a_whole_number_of_the_new_cells(cells):
    """Of 11 × 7 × 5 cells, half full: 20 along the longest side are 12.7 × 9.1 along the others, and 22 are 14 × 10.

    The liquid ends at the sides of the domain, and not at those of a grid that covers it; with as much as the run has.
    """
    scene = Scene(size=(1.1, 0.7, 0.5), cells=11, items=[Liquid(HalfSpace((0, 0.35, 0), (0, 1, 0)))])
    frame = Frames(scene, ("surface",), cells=cells).make(1, Simulation(scene).state)
    low, high = frame.surface.vertices.min(axis=0), frame.surface.vertices.max(axis=0)
    assert as_trimesh(frame.surface).is_watertight
    assert np.allclose(low, 0, atol=1e-6)
    assert np.allclose(high, (1.1, 0.35, 0.5), atol=(1e-6, 1.1 / cells, 1e-6))
    assert as_trimesh(frame.surface).volume == pytest.approx(1.1 * 0.35 * 0.5, rel=0.02)
    phi, h = frame.surface_phi
    places = (np.indices(phi.shape) - BEYOND + 0.5) * h
    assert (phi[(places > np.reshape((1.1, 0.7, 0.5), (3, 1, 1, 1))).any(axis=0)] > 0).all()
