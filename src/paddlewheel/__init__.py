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
step = pw.first_step(scene)
"""

from paddlewheel.measure import Solids, liquid_distance
from paddlewheel.physics.pressure import Projection, project
from paddlewheel.scene import Liquid, Method, Scene, Solid
from paddlewheel.solids.mesh import Mesh
from paddlewheel.solids.pose import Pose
from paddlewheel.solids.shapes import Box, Capsule, Cylinder, HalfSpace, Shape, Sphere, Torus
from paddlewheel.step import FirstStep, first_step
from paddlewheel.types import Boundary, Faces, Grid, SolveInfo

__version__ = "0.1.0"

__all__ = [
    "Boundary",
    "Box",
    "Capsule",
    "Cylinder",
    "Faces",
    "FirstStep",
    "Grid",
    "HalfSpace",
    "Liquid",
    "Mesh",
    "Method",
    "Pose",
    "Projection",
    "Scene",
    "Shape",
    "Solid",
    "Solids",
    "SolveInfo",
    "Sphere",
    "Torus",
    "first_step",
    "liquid_distance",
    "project",
]
