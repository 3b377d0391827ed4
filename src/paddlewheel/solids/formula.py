"""Distances of shapes that have a formula, by one kernel for all of them.

The steps of a formula work on a stack of numbers: a primitive puts its distance
on top, and a boolean takes what it joins from there and puts back one. Each
step is taken for a few dozen points before the next, so that it is vectorised
and its numbers stay in the nearest cache. For a few points it saves the many calls.
"""

from typing import NamedTuple

import numpy as np

from paddlewheel.kernel import kernel, prange, threads_worth

__all__ = [
    "BOX", "CAPSULE", "COMPLEMENT", "CYLINDER", "HALF_SPACE", "INTERSECTION", "SPHERE", "TORUS", "UNION",
    "Formula", "Formulas", "at_points", "at_points_of", "joined", "moved", "on_lattice", "primitive", "together",
]  # fmt: skip

BOX, SPHERE, CYLINDER, CAPSULE, TORUS, HALF_SPACE, UNION, INTERSECTION, COMPLEMENT = range(9)

# What a step of a primitive knows: its frame, x = R y + t, and in this a point, a vector and two lengths.
_ROTATION, _POSITION, _POINT, _VECTOR, _FIRST, _SECOND = 0, 9, 12, 15, 18, 19
_NUMBERS = 20
_FEW = 1000  # points for which no thread is woken
_BLOCK = 1024  # points of one thread at a time,
_LANES = 64  # and of one step of a formula


class Formula(NamedTuple):
    """What there is to do in turn.

    steps    (n,) int64: which primitive or boolean
    numbers  (n, 20) float64: what it knows; nothing, if it is a boolean
    """

    steps: np.ndarray
    numbers: np.ndarray


class Formulas(NamedTuple):
    """Those of many shapes, one after another: that of shape k has the steps from start[k] to start[k + 1] − 1.

    A shape without any has none there.
    """

    start: np.ndarray
    steps: np.ndarray
    numbers: np.ndarray


def together(formulas: list[Formula | None]) -> Formulas:
    """The formulas of many shapes in one."""
    known = [formula for formula in formulas if formula is not None]
    start = np.append(0, np.cumsum([0 if formula is None else len(formula.steps) for formula in formulas]))
    steps = np.concatenate([np.zeros(0, np.int64), *(formula.steps for formula in known)])
    return Formulas(start, steps, np.concatenate([np.zeros((0, _NUMBERS)), *(formula.numbers for formula in known)]))


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


def at_points_of(formulas: Formulas, which: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The same at points (n, 3), each of the shape `which` (n,) of many; not a number where that has no formula."""
    out, points = np.empty(len(points)), np.ascontiguousarray(points)
    order = np.argsort(which.astype(np.int16), kind="stable")  # then one shape's are beside each other
    with threads_worth(len(points)):
        _evaluate_many(out, points, which, order, *formulas)
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


@kernel
def _evaluate_many(out, points, which, order, start, steps, numbers):
    longest = 0
    for k in range(len(start) - 1):
        longest = max(longest, start[k + 1] - start[k])
    for block in prange(-(-len(out) // _BLOCK)):
        place, stack, values = np.empty((3, _LANES)), np.empty((longest + 3, _LANES)), np.empty(_LANES)
        first, last = np.int64(block) * _BLOCK, min((np.int64(block) + 1) * _BLOCK, len(out))
        while first < last:
            k, n = which[order[first]], 0
            while n < _LANES and first + n < last and which[order[first + n]] == k:
                for a in range(3):
                    place[a, n] = points[order[first + n], a]
                n += 1
            own = slice(start[k], start[k + 1])
            if start[k] < start[k + 1]:
                _values(values[:n], stack, place, steps[own], numbers[own])
            else:
                values[:] = np.nan
            for m in range(n):
                out[order[first + m]] = values[m]
            first += n


@kernel(parallel=False)
def _evaluate(out, points, steps, numbers):
    place, stack = np.empty((3, _LANES)), np.empty((len(steps) + 3, _LANES))
    for first in range(0, len(out), _LANES):
        n = min(_LANES, len(out) - first)
        for a in range(3):
            for m in range(n):
                place[a, m] = points[first + m, a]
        _values(out[first : first + n], stack, place, steps, numbers)


@kernel
def _evaluate_lattice(out, x, y, z, steps, numbers):
    for i in prange(out.shape[0]):
        nk = out.shape[2]
        place, stack, plane = np.empty((3, _LANES)), np.empty((len(steps) + 3, _LANES)), out[i].reshape(-1)
        j, k = 0, 0
        for first in range(0, len(plane), _LANES):
            n = min(_LANES, len(plane) - first)
            for m in range(n):
                place[0, m], place[1, m], place[2, m] = x[i], y[j], z[k]
                k += 1
                if k == nk:
                    j, k = j + 1, 0
            _values(plane[first : first + n], stack, place, steps, numbers)


@kernel(parallel=False)
def _values(out, stack, place, steps, numbers):
    """The distances at places (3, n), all points by one step before the next; three rows of the stack are room."""
    n, top = len(out), 2
    for step in range(len(steps)):
        kind = steps[step]
        if kind == COMPLEMENT:
            row = stack[top]
            for m in range(n):
                row[m] = -row[m]
        elif kind == UNION:
            top -= 1
            row, above = stack[top], stack[top + 1]
            for m in range(n):
                row[m] = min(row[m], above[m])
        elif kind == INTERSECTION:
            top -= 1
            row, above = stack[top], stack[top + 1]
            for m in range(n):
                row[m] = max(row[m], above[m])
        else:
            top += 1
            _primitive(stack[top, :n], stack[0], stack[1], stack[2], place, kind, numbers[step])
    last = stack[3]
    for m in range(n):
        out[m] = last[m]


@kernel(parallel=False)
def _primitive(out, x, y, z, place, kind, own):
    """The distances of one shape; x, y and z are places from its point, in its own frame."""
    _into_frame(x, place, own[0], own[3], own[6], own, own[_POINT], len(out))
    _into_frame(y, place, own[1], own[4], own[7], own, own[_POINT + 1], len(out))
    _into_frame(z, place, own[2], own[5], own[8], own, own[_POINT + 2], len(out))
    u, v, w, first, second = own[_VECTOR], own[_VECTOR + 1], own[_VECTOR + 2], own[_FIRST], own[_SECOND]
    if kind == BOX:
        for m in range(len(out)):
            out[m] = _corner(abs(x[m]) - u, abs(y[m]) - v, abs(z[m]) - w)
    elif kind == SPHERE:
        for m in range(len(out)):
            out[m] = np.sqrt(x[m] * x[m] + y[m] * y[m] + z[m] * z[m]) - first
    elif kind == HALF_SPACE:
        for m in range(len(out)):
            out[m] = x[m] * u + y[m] * v + z[m] * w
    elif kind == CYLINDER:
        for m in range(len(out)):
            along, radial = _about_axis(x[m], y[m], z[m], u, v, w)
            out[m] = _corner(abs(along) - first, radial - second, -np.inf)
    elif kind == CAPSULE:
        for m in range(len(out)):
            along, radial = _about_axis(x[m], y[m], z[m], u, v, w)
            beyond = along - min(max(along, 0.0), first)
            out[m] = np.sqrt(beyond * beyond + radial * radial) - second
    else:  # a torus
        for m in range(len(out)):
            along, radial = _about_axis(x[m], y[m], z[m], u, v, w)
            across = radial - first
            out[m] = np.sqrt(along * along + across * across) - second


@kernel(parallel=False)
def _into_frame(out, place, a, b, c, own, origin, n):
    """One coordinate in the frame of a shape."""
    x, y, z = place[0], place[1], place[2]
    s, t, r = own[_POSITION], own[_POSITION + 1], own[_POSITION + 2]
    for m in range(n):
        out[m] = a * (x[m] - s) + b * (y[m] - t) + c * (z[m] - r) - origin


@kernel(parallel=False)
def _about_axis(x, y, z, u, v, w):
    """How far along a unit vector and how far from it a place is."""
    along = x * u + y * v + z * w
    x, y, z = x - along * u, y - along * v, z - along * w
    return along, np.sqrt(x * x + y * y + z * z)


@kernel(parallel=False)
def _corner(a, b, c):
    """Distance to the corner-shaped region where every coordinate is ≤ 0: a box, or a cylinder in (along, radial)."""
    inside = min(max(a, b, c), 0.0)
    a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
    return inside + np.sqrt(a * a + b * b + c * c)
