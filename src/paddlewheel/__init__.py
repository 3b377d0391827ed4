"""Paddlewheel: water, honey and smoke, coupled to solids of any shape.

import paddlewheel as pw

scene = pw.Scene(
    size=(1, 1, 1),
    cells=64,
    items=[
        pw.Liquid(pw.HalfSpace((0, 0.5, 0), (0, 1, 0))),
        pw.Solid(pw.Sphere((0.5, 0.4, 0.5), 0.2)),
    ],
)
simulation = pw.Simulation(scene)
for frame in simulation.run(frames=48):
    print(frame.number, frame.report.volume)
"""

from paddlewheel import interrupt  # noqa: F401, first: what follows takes its time
from paddlewheel.items import Force, Hand, Inflow, Liquid, Outflow, RigidBody, Smoke, Solid, SurfacePressure
from paddlewheel.measure import Solids, liquid_distance
from paddlewheel.method import Method
from paddlewheel.one_step import FirstStep, first_step
from paddlewheel.physics.pressure import Projection, project
from paddlewheel.run import Frame, Simulation, SolveFailedError
from paddlewheel.scene import Scene
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Shape, Sphere, Torus
from paddlewheel.types import Body, Boundary, Faces, Grid, Particles, SolveInfo, State, StepReport

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Boundary",
    "Box",
    "Capsule",
    "Cylinder",
    "Faces",
    "FirstStep",
    "Force",
    "Frame",
    "Grid",
    "HalfSpace",
    "Hand",
    "Inflow",
    "Liquid",
    "Mesh",
    "Method",
    "Outflow",
    "Particles",
    "Pose",
    "Projection",
    "RigidBody",
    "Scene",
    "Shape",
    "Simulation",
    "Smoke",
    "Solid",
    "Solids",
    "SolveFailedError",
    "SolveInfo",
    "Sphere",
    "State",
    "StepReport",
    "SurfacePressure",
    "Torus",
    "first_step",
    "liquid_distance",
    "project",
]
