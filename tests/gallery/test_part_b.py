"""Solids of any shape in the gallery: a turned box, a slope, a hollow mesh and a hollow sphere."""

import numpy as np
import pytest

from paddlewheel.gallery import common, hollow, liquid_in_sphere, slope, vortex_box
from paddlewheel.run import Simulation
from paddlewheel.solids.mesh import Mesh


@pytest.mark.parametrize("advection", ["flip", "semi-lagrangian"])
@pytest.mark.parametrize(
    ("entry", "cells", "frames"), [(vortex_box, 32, 12), (slope, 64, 24), (hollow, 24, 12), (liquid_in_sphere, 24, 12)]
)
def test_no_particle_gets_into_a_solid_in_long_steps(entry, cells, frames, advection):
    """Five cells in a step, along walls that are curved or oblique, by the exact distance to the shapes."""
    watch = common.Watch(Simulation(entry.scene(cells=cells, advection=advection, cfl=5.0)))
    assert sum(frame.report.substeps for frame in watch.run(frames)) < 5 * frames
    for name in ("particle inside a solid / h", "max|∇·u| h / max|u|", "pressure iterations, most"):
        assert watch.figures()[name] <= common.LIMITS[name], name


@pytest.mark.parametrize("advection", ["semi-lagrangian", "flip", "apic"])
def test_a_turned_box_is_as_good_as_an_aligned_one(advection):
    """B07 figure 2, at half its resolution: voxels brake the vortex, open areas do not."""
    velocities = []
    for degrees, weights in ((0.0, "area"), (17.0, "area"), (17.0, "voxel")):
        simulation = Simulation(vortex_box.scene(cells=32, degrees=degrees, weights=weights, advection=advection))
        for frame in simulation.run(24):
            if weights == "area":  # no bubble opens
                assert frame.report.volume == pytest.approx(vortex_box.SIDE**2 / 32, rel=0.01)
        velocities.append(vortex_box.sampled(simulation, degrees))
    aligned, turned, voxels = velocities
    error, coarse = (np.linalg.norm(u - aligned, axis=1).mean() for u in (turned, voxels))
    assert error < 0.15 * coarse


def test_the_vortex_starts_alike_at_every_angle():
    """In the box's own coordinates, and with the largest velocity of 1 m/s."""
    for degrees in (0.0, 17.0, 30.0):
        scene = vortex_box.scene(cells=32, degrees=degrees)
        x = vortex_box.placed(degrees).to_world(np.array([[0.0, vortex_box.SIDE / 2, 0.0], [0.0, 0.0, 0.0]]))
        u = scene.items[1].velocity(x) @ vortex_box.placed(degrees).rotation
        np.testing.assert_allclose(u, [[-1, 0, 0], [0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("degrees", [0.0, 17.0, 45.0, -30.0])
def test_a_vortex_is_checked_at_the_angle_of_its_box(degrees):
    assert vortex_box.turned(vortex_box.scene(cells=32, degrees=degrees)) == pytest.approx(degrees)


def test_water_leaves_a_slope_but_not_the_steps_of_voxels():
    """R05: from the steps drops come down for a while."""
    left = {}
    for weights in ("area", "voxel"):
        simulation = Simulation(slope.scene(weights=weights))
        simulation.advance(5.0)
        left[weights] = slope.left_on_slope(simulation.state)
    assert left["area"] < 0.02
    assert left["voxel"] > 0.1


@pytest.mark.parametrize("degrees", [0.0, -3.0, 30.0])
def test_a_slope_is_gentle(degrees):
    with pytest.raises(ValueError, match="degrees"):
        slope.scene(degrees=degrees)


def test_the_hollow_mesh_holds_the_ball():
    """The mesh is closed and well inside the domain, and the ball well inside the mesh."""
    scene = hollow.scene(cells=24)
    mesh, ball = Mesh(hollow.shape()), scene.items[1].shape
    low, high = mesh.bounds()
    assert low.min() > 0.05
    assert high.max() < 0.95
    assert mesh.distance(np.array([ball.center]))[0] < -ball.radius
