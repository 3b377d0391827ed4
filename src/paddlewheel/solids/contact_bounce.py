"""Bounces that add no energy.

Restitution asks each contact to part at a part of the speed it came at. Of one
contact alone that is never too much; but of several on a body that turns, or of
one whose arm has turned since, it may be. Impulses λ that change relative
velocities from u to u' give the bodies the energy

    Σ λ·(u + u')/2

Between impulses that only stop the bodies and those that make them bounce it is
a parabola. So in each group of bodies that touch, as much of the bounce is left
as adds no more than was lost when they came to touch. Velocities are those
against obstacles: what moves by itself may give energy.
"""

import numpy as np


def given(pushes, before, after) -> np.ndarray:
    """Energy [J] that impulses (m, 3) give, (m,), at relative velocities (m, 3) of their contacts before and after."""
    return 0.5 * np.sum(pushes * (before + after), axis=1)


def groups(contacts, n) -> np.ndarray:
    """Which group of bodies that touch each of n bodies belongs to, (n,)."""
    pairs = contacts.second >= 0
    if not pairs.any():
        return np.arange(n)

    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = contacts.first[pairs], contacts.second[pairs]
    return connected_components(coo_array((np.ones(len(first)), (first, second)), (n, n)), directed=False)[1]


def admissible(group, allowed, before, calm, bouncing) -> np.ndarray:
    """The largest part of the bounce, from 0 to 1, that gives no group more energy than is allowed [J], (groups,).

    group          of each contact, (m,)
    before         (m, 3) relative velocities at the contacts
    calm, bouncing  pairs of the impulses (m, 3), and the velocities (m, 3) that they lead to
    """
    pushes, after = calm
    more, change = bouncing[0] - pushes, bouncing[1] - after
    parts = (pushes * (before + after), more * (before + after) + pushes * change, more * change)
    c, b, a = (0.5 * np.bincount(group, part.sum(axis=1), len(allowed)) for part in parts)
    c = np.minimum(c - allowed, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the greater root of  a s² + b s + c, in the form that does not cancel
        root = np.sqrt(b * b - 4 * a * c)
        part = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
    return np.where(a + b + c <= 0, 1.0, np.clip(np.nan_to_num(part), 0, 1))
