"""What a user passes to a shape, a pose or a scene, checked: errors name the owner, the argument and the value."""

from difflib import get_close_matches

import numpy as np

UNIT_TOLERANCE = 1e-6
_FEW = 12  # choices, beyond which a list of them hides the one that was meant


def number(owner: str, name: str, value) -> float:
    """A finite number."""
    return float(_finite(owner, name, value, (), "a finite number"))


def positive(owner: str, name: str, value) -> float:
    """A finite number greater than zero."""
    result = float(_finite(owner, name, value, (), "a positive number"))
    if result <= 0:
        raise ValueError(f"{owner}: {name}={value!r}, expected a positive number")
    return result


def flag(owner: str, name: str, value) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{owner}: {name}={value!r}, expected True or False")
    return value


def vector(owner: str, name: str, value) -> tuple[float, float, float]:
    """Three finite numbers."""
    return tuple(_finite(owner, name, value, (3,), "three finite numbers").tolist())


def pair(owner: str, name: str, value) -> tuple[float, float]:
    """Two finite numbers."""
    return tuple(_finite(owner, name, value, (2,), "two finite numbers").tolist())


def direction(owner: str, name: str, value) -> tuple[float, float, float]:
    """Three finite numbers that are not all zero, scaled to length one."""
    axis = _finite(owner, name, value, (3,), "three finite numbers")
    largest = np.abs(axis).max()
    if largest == 0:
        raise ValueError(f"{owner}: {name}={value!r} has no direction, expected a vector that is not zero")
    axis = axis / largest  # so that the square of a tiny vector does not vanish
    return tuple((axis / np.linalg.norm(axis)).tolist())


def quaternion(owner: str, name: str, value) -> tuple[float, float, float, float]:
    """A unit quaternion (w, x, y, z); what rounding left of its length is removed."""
    q = _finite(owner, name, value, (4,), "a unit quaternion (w, x, y, z)")
    length = np.linalg.norm(q)
    if abs(length - 1) > UNIT_TOLERANCE:
        raise ValueError(f"{owner}: {name}={value!r} has length {length:.7g}, expected a unit quaternion (w, x, y, z)")
    return tuple((q / length).tolist())


def evaluated(
    owner: str,
    name: str,
    function,
    points: np.ndarray,
    width: int | None = None,
    *,
    time: float | None = None,
    within=None,
) -> np.ndarray:
    """What a user's function gives for points (n, 3) [m], and a time [s] if there is one: finite numbers, (n, width).

    A width of None is one number for each point, (n,). Outside of the shape
    `within` they need not be finite. Without points it is not called. What it raises gets a note of whose it is.
    """
    expected = (len(points),) if width is None else (len(points), width)
    if not len(points):
        return np.empty(expected)
    given = np.array(points, np.float64)  # its own, in case it writes there
    when = "" if time is None else f" at t = {time:.6g} s"
    try:
        returned = function(given) if time is None else function(given, time)
    except Exception as error:
        error.add_note(f"in {owner}: {name}(points){when}")
        raise
    try:
        values = np.asarray(returned)
    except ValueError:  # a ragged list
        values = np.asarray(returned, object)
    if values.shape != expected or values.dtype.kind not in "iuf":
        raise ValueError(
            f"{owner}: {name}(points) returned {values.dtype} of shape {values.shape} for points of shape "
            f"{points.shape}{when}, expected numbers of shape {expected}"
        )
    wrong = ~np.isfinite(values.reshape(len(points), -1)).all(axis=1)
    if wrong.any() and within is not None:
        wrong &= within.distance(points) < 0
    if wrong.any():
        at = np.argmax(wrong)
        value, count = (f"{values[at]}", "a finite number") if width is None else (short(values[at]), "finite numbers")
        raise ValueError(f"{owner}: {name} at {short(points[at])} m is {value}{when}, expected {count}")
    return values


def short(vector) -> str:
    """Numbers as an error tells them: (0.25, 1, 0.5)."""
    return "(" + ", ".join(f"{v:.4g}" for v in vector) + ")"


def choice(owner: str, name: str, value, choices) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in choices:
        swapped = [c for c in choices if sorted(c) == sorted(str(value).lower())]  # "y+" or "+Y" for "+y"
        begun = [c for c in choices if value and c.startswith(str(value).lower())]  # "vol" for "volume"
        close = swapped or begun or get_close_matches(str(value), choices, n=1)
        hint = f"did you mean {close[0]!r}?" if close else ""
        if hint and len(choices) > _FEW:
            raise ValueError(f"{owner}: {name}={value!r} is none of {len(choices)}; {hint}")
        raise ValueError(
            f"{owner}: {name}={value!r}, expected one of {', '.join(map(repr, choices))}{'; ' + hint if hint else ''}"
        )
    return value


def _finite(owner, name, value, shape, expected) -> np.ndarray:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):  # None, text, ragged lists: all the same mistake
        array = np.array([np.nan])
    # NumPy reads numbers from text too, and from True and False
    if array.shape != shape or not np.isfinite(array).all() or np.asarray(value).dtype.kind in "bUS":
        raise ValueError(f"{owner}: {name}={value!r}, expected {expected}")
    return array
