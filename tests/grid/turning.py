"""Reflections and rotations by 90° of fields on a grid."""

import numpy as np

from paddlewheel.types import Faces

# (axes, flipped): new axis a is old axis axes[a], then reversed if a is in flipped
TURNS = {
    "reflect x": ((0, 1, 2), (0,)),
    "reflect z": ((0, 1, 2), (2,)),
    "swap x y": ((1, 0, 2), ()),
    "rotate about z": ((1, 0, 2), (0,)),
    "rotate about x": ((0, 2, 1), (1,)),
    "cycle axes": ((1, 2, 0), ()),
    "point": ((0, 1, 2), (0, 1, 2)),
}


def turn(field, how):
    """A field at nodes or cell centres, turned."""
    axes, flipped = TURNS[how]
    return np.ascontiguousarray(np.flip(np.transpose(field, axes), flipped))


def turn_faces(faces, how, vector):
    """A field on faces, turned; the components of a vector change sign when their axis is reversed."""
    axes, flipped = TURNS[how]
    return Faces(*((-1 if vector and a in flipped else 1) * turn(faces[axes[a]], how) for a in range(3)))
