"""Distances of shapes that have a formula, by one kernel for all of them.

The steps of a formula work on a stack of numbers: a primitive puts its distance
on top, and a boolean takes what it joins from there and puts back one. That is
four to ten times as fast as whole arrays for each term of it, and for a few
points it saves the many calls.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth

__all__ = [
    "BOX", "CAPSULE", "COMPLEMENT", "CYLINDER", "HALF_SPACE", "INTERSECTION", "SPHERE", "TORUS", "UNION",
    "Formula", "at_points", "joined", "moved", "on_lattice", "primitive",
]  # fmt: skip

BOX, SPHERE, CYLINDER, CAPSULE, TORUS, HALF_SPACE, UNION, INTERSECTION, COMPLEMENT = range(9)

# What a step of a primitive knows: its frame, x = R y + t, and in this a point, a vector and two lengths.
_ROTATION, _POSITION, _POINT, _VECTOR, _FIRST, _SECOND = 0, 9, 12, 15, 18, 19
_NUMBERS = 20
_FEW = 1000  # points for which no thread is woken
_BLOCK = 1024  # points


class Formula(NamedTuple):
    """What there is to do in turn.

    steps    (n,) int64: which primitive or boolean
    numbers  (n, 20) float64: what it knows; nothing, if it is a boolean
    """

    steps: np.ndarray
    numbers: np.ndarray


def primitive(kind: int, point, vector=(0.0, 0.0, 0.0), first: float = 0.0, second: float = 0.0) -> Formula:
    """One shape, in the frame it is drawn in; what the numbers mean depends on the kind."""
    frame = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    return Formula(np.array([kind]), np.array([[*frame, *point, *vector, first, second]]))


def joined(kind: int, *formulas: Formula | None) -> Formula | None:
    """A boolean of shapes; None if one of them has no formula."""
    if any(formula is None for formula in formulas):
        return None
    steps = np.concatenate([*(f.steps for f in formulas), [kind]])
    return Formula(steps, np.concatenate([*(f.numbers for f in formulas), np.zeros((1, _NUMBERS))]))


def moved(formula: Formula | None, rotation: np.ndarray, position) -> Formula | None:
    """A shape carried by a pose:  R' = R_pose R,  t' = R_pose t + position."""
    if formula is None:
        return None
    numbers = formula.numbers.copy()
    _move(numbers, rotation, np.asarray(position, np.float64))
    return formula._replace(numbers=numbers)


def at_points(formula: Formula, points: np.ndarray) -> np.ndarray:
    """Signed distance [m] at points (n, 3), float64."""
    out, points = np.empty(len(points)), np.ascontiguousarray(points)
    if len(points) <= _FEW:
        _evaluate(out, points, *formula)
    else:
        with threads_worth(len(points)):
            _evaluate_shared(out, points, *formula)
    return out


def on_lattice(formula: Formula, axes) -> np.ndarray:
    """The same at all points (x[i], y[j], z[k]) of axes (x, y, z), float64 each."""
    out = np.empty([len(axis) for axis in axes])
    with threads_worth(out.size):
        _evaluate_lattice(out, *map(np.ascontiguousarray, axes), *formula)
    return out


@kernel(parallel=False)
def _move(numbers, rotation, position):
    for n in range(len(numbers)):
        frame, t = numbers[n, :9].copy(), numbers[n, _POSITION : _POSITION + 3].copy()
        for a in range(3):
            numbers[n, _POSITION + a] = position[a]
            for b in range(3):
                numbers[n, _POSITION + a] += rotation[a, b] * t[b]
                total = 0.0
                for c in range(3):
                    total += rotation[a, c] * frame[3 * c + b]
                numbers[n, 3 * a + b] = total


@kernel
def _evaluate_shared(out, points, steps, numbers):
    for block in prange(-(-len(out) // _BLOCK)):
        start = np.int64(block) * _BLOCK
        _evaluate(out[start : start + _BLOCK], points[start : start + _BLOCK], steps, numbers)


@kernel(parallel=False)
def _evaluate(out, points, steps, numbers):
    stack = np.empty(len(steps))
    for n in range(len(out)):
        out[n] = _value(stack, points[n, 0], points[n, 1], points[n, 2], steps, numbers)


@kernel
def _evaluate_lattice(out, x, y, z, steps, numbers):
    for i in prange(out.shape[0]):
        stack = np.empty(len(steps))
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[i, j, k] = _value(stack, x[i], y[j], z[k], steps, numbers)


@kernel(parallel=False)
def _value(stack, x, y, z, steps, numbers):
    top = -1
    for n in range(len(steps)):
        kind = steps[n]
        if kind == COMPLEMENT:
            stack[top] = -stack[top]
        elif kind == UNION:
            top -= 1
            stack[top] = min(stack[top], stack[top + 1])
        elif kind == INTERSECTION:
            top -= 1
            stack[top] = max(stack[top], stack[top + 1])
        else:
            top += 1
            stack[top] = _primitive(kind, numbers[n], x, y, z)
    return stack[0]


@kernel(parallel=False)
def _primitive(kind, own, x, y, z):
    """The distance of one shape; from here on x, y and z are from its point, in its own frame."""
    x, y, z = x - own[_POSITION], y - own[_POSITION + 1], z - own[_POSITION + 2]
    x, y, z = (
        own[0] * x + own[3] * y + own[6] * z - own[_POINT],
        own[1] * x + own[4] * y + own[7] * z - own[_POINT + 1],
        own[2] * x + own[5] * y + own[8] * z - own[_POINT + 2],
    )
    u, v, w = own[_VECTOR], own[_VECTOR + 1], own[_VECTOR + 2]
    if kind == BOX:
        return _corner(abs(x) - u, abs(y) - v, abs(z) - w)
    if kind == SPHERE:
        return np.sqrt(x * x + y * y + z * z) - own[_FIRST]
    along = x * u + y * v + z * w
    if kind == HALF_SPACE:
        return along
    x, y, z = x - along * u, y - along * v, z - along * w
    radial = np.sqrt(x * x + y * y + z * z)
    if kind == CYLINDER:
        return _corner(abs(along) - own[_FIRST], radial - own[_SECOND], -np.inf)
    if kind == CAPSULE:
        beyond = along - min(max(along, 0.0), own[_FIRST])
        return np.sqrt(beyond * beyond + radial * radial) - own[_SECOND]
    across = radial - own[_FIRST]  # of a torus
    return np.sqrt(along * along + across * across) - own[_SECOND]


@kernel(parallel=False)
def _corner(a, b, c):
    """Distance to the corner-shaped region where every coordinate is ≤ 0: a box, or a cylinder in (along, radial)."""
    inside = min(max(a, b, c), 0.0)
    a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
    return inside + np.sqrt(a * a + b * b + c * c)
