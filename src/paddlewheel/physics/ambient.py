"""The gas beyond open sides, and how fast it comes in.

Pressure is zero on an open side, so what is beyond has no head but that of its own motion, ½ ρ V². If what comes in had
the velocity of the gas at the side, it would have as much head as the domain sucks it in with: where it comes in faster
makes room for more that does, and wind grows out of nothing (the backflow instability of open sides; Bruneau & Fabrie
1994, Dong et al. 2014). So it comes in with the velocity V that the scene gives to the gas beyond: that which is at the
side at the start, and what the scene's forces have made of it since. They act there as inside, but as far as walls hold
the gas at a side, they hold that beyond too. There is no smoke, so no buoyancy.

V is known in a layer of faces for each side: normal to it on the side itself, along it half a cell inside.
"""

import numpy as np

from paddlewheel.types import AXES, Faces

__all__ = ["at_start", "beyond", "coming_in", "layer", "pushed"]


def layer(field: np.ndarray, side: str) -> np.ndarray:
    """The samples of a field that are next to a side, without its axis: a view."""
    return np.moveaxis(field, AXES.index(side[1]), 0)[0 if side[0] == "-" else -1]


def beyond(ambient: dict[str, np.ndarray], side: str) -> list[np.ndarray]:
    """The three components of V [m/s] at a side."""
    return [ambient[_name(side, a)] for a in range(3)]


def at_start(open_sides, velocity: Faces) -> dict[str, np.ndarray]:
    """V of gas that has a velocity [m/s] at the sides: arrays by the names of side and component."""
    return {_name(side, a): layer(velocity[a], side).copy() for side in sorted(open_sides) for a in range(3)}


def pushed(
    ambient: dict[str, np.ndarray], open_sides, open: Faces, push: Faces, change: Faces
) -> dict[str, np.ndarray]:
    """V after forces gave gas a `push` [m/s], of which at each side as much is felt as there is all in all, by the
    least squares over the open parts of faces, in the `change` of velocity by all that acts."""
    result = {}
    for side in sorted(open_sides):
        weights, pushes, changes = ([layer(u, side).astype(float) for u in field] for field in (open, push, change))
        felt = sum(float((w * p * c).sum()) for w, p, c in zip(weights, pushes, changes, strict=True))
        given = sum(float((w * p * p).sum()) for w, p in zip(weights, pushes, strict=True))
        part = min(max(felt / given, 0.0), 1.0) if given else 0.0
        for a, v in enumerate(beyond(ambient, side)):
            result[_name(side, a)] = v + np.float32(part) * layer(push[a], side)
    return result


def coming_in(ambient: dict[str, np.ndarray], open_sides, velocity: Faces, ahead: Faces, layers: int) -> Faces:
    """What particles get in so many layers of cells at the sides, a velocity [m/s] and what they are `ahead` of it.

    Where gas comes in that is V, and beyond a side they are as much ahead as on it. Elsewhere it is what is there.
    """
    result = Faces(*(u + m for u, m in zip(velocity, ahead, strict=True)))
    for side in sorted(open_sides):
        axis = AXES.index(side[1])
        normal = layer(velocity[axis], side)
        comes = normal > 0 if side[0] == "-" else normal < 0
        for a, v in enumerate(beyond(ambient, side)):
            there = np.moveaxis(result[a], axis, 0)
            there = there[: layers + (a == axis)] if side[0] == "-" else there[-layers - (a == axis) :]
            where = comes if a == axis else _beside(comes, a - (a > axis))
            np.copyto(there, v + layer(ahead[a], side), where=where)
    return result


def _beside(cells: np.ndarray, axis: int) -> np.ndarray:
    """The faces along an axis that have any of the cells (n, m), bool, on one side or the other."""
    wide = np.pad(cells, [(int(b == axis),) * 2 for b in range(2)])
    return np.delete(wide, 0, axis) | np.delete(wide, -1, axis)


def _name(side: str, axis: int) -> str:
    return f"ambient.{side}.{AXES[axis]}"
