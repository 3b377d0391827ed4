"""Ways out for bodies so deep in something that its nearest surface is none of their contacts."""

import numpy as np


def with_overlaps(contacts, things, surfaces, slack: float):
    """The contacts, and one more for each pair that overlaps by more than `slack` spacings but has none.

    Its normal goes from centre to centre of two bodies, and along the slope of
    an obstacle's distance; its gap is how much their extents along it overlap.
    """
    known = set(zip(contacts.first.tolist(), contacts.other.tolist(), strict=True))
    near = things.apart() == 0
    for i, j in zip(*np.nonzero(near), strict=True):
        is_body = j < things.bodies
        pair = (min(i, j), max(i, j)) if is_body else (i, j)
        if i == j or pair in known or not _overlap(things, surfaces, i, j, slack * surfaces.spacing[i]):
            continue
        known.add(pair)
        normal, gap = (_between if is_body else _out_of)(things, surfaces, *pair)
        row = [pair[0], pair[1] if is_body else -1, pair[1], np.zeros(3), normal, gap, np.zeros(3), 0.0, 0.0, 0.0]
        contacts = type(contacts)(*(_with_row(part, value) for part, value in zip(contacts, row, strict=True)))
    return contacts


def _overlap(things, surfaces, i, j, slack) -> bool:
    """Whether a surface point of body i lies deeper than `slack` [m] in thing j, or all do so much as lie in it.

    The latter are those of a body in the very place of another like it.
    """
    phi = _distances(things, j, things.origin[i] + _points(things, surfaces, i))
    return phi.min() < -slack or phi.max() <= slack


def _between(things, surfaces, i, j) -> tuple[np.ndarray, float]:
    """Normal and gap [m] of two bodies."""
    away = things.origin[i] - things.origin[j]
    length = np.linalg.norm(away)
    normal = away / length if length > 1e-9 * surfaces.reach[i] else np.array([0.0, 1.0, 0.0])
    lowest, highest = (_points(things, surfaces, i) @ normal).min(), (_points(things, surfaces, j) @ normal).max()
    return normal, length + lowest - highest


def _out_of(things, surfaces, i, j) -> tuple[np.ndarray, float]:
    """Normal and gap [m] of a body and an obstacle: by the slope at the body's centre, or nearest to the way out."""
    points = _points(things, surfaces, i)
    nearest = points[np.argmax(_distances(things, j, things.origin[i] + points))]
    for start in (np.zeros(3), nearest):
        y = (things.origin[i] + start - things.origin[j]) @ things.rotation[j]
        phi, slope = things.distances.slopes(np.array([j]), y[None], surfaces.spacing[i : i + 1])
        size = np.linalg.norm(slope)
        if size > 0.5:  # it vanishes in the middle of the obstacle
            break
    normal = things.rotation[j] @ slope[0] / max(size, 1e-12)
    return normal, float(phi[0]) + ((points - start) @ normal).min()


def _points(things, surfaces, i) -> np.ndarray:
    """Surface points of a body about its centre, in world axes [m]."""
    return surfaces.points[surfaces.start[i] : surfaces.start[i + 1]] @ things.rotation[i].T


def _distances(things, j, points) -> np.ndarray:
    """Distance of world points to thing j [m]."""
    return things.distances.at(np.full(len(points), j), (points - things.origin[j]) @ things.rotation[j])


def _with_row(part, value) -> np.ndarray:
    """One more contact; `arms` has its rows along the second axis."""
    if part.ndim == 3:
        return np.concatenate([part, np.broadcast_to(value, (2, 1, 3))], axis=1)
    return np.concatenate([part, np.array([value], part.dtype)])
