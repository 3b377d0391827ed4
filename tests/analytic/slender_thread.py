"""How a slender viscous thread coils if neither gravity nor inertia acts on it, to compare with.  Ribe 2004.

In the frame that turns with the coil the thread's axis x(s) stands still, and liquid goes along it at the speed U. With
the tangent t = x′, the curvature K = t × t′ and the spin w about the axis, the liquid's velocity and its rate of
turning are, in the frame of the room,

    V = U t + Ω e × x ,        ω = Ω e + U K + w t

A thread of constant radius resists bending with 3μI and twisting with 2μI. There is a constant force N in it, and a
moment M:

    M = 3μI (U K′ + w t′) + 2μI w′ t ,        M′ = N × t

At the nozzle the liquid does not turn, or with a given spin; at the floor it is at rest, V = ω = 0. The only length is
the height H, so Ω H/U is a number.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_bvp

TWISTING = 2 / 3  # resistance to twisting over that to bending


class Coil(NamedTuple):
    """Ω H/U; the coil's radius over H; and how high the axis is where the liquid has slowed to half of U, over H."""

    frequency: float
    radius: float
    half_speed: float


def slender_coil(spin: float = 0.0) -> Coil:
    """The coil of a thread that comes with a spin [U/H], positive if it is in the sense of the coil."""

    def slopes(_, y, p):
        force, length = p[:3, None], p[4]
        t, K, w, M = y[3:6], y[6:9], y[9], y[10:13]
        bends = np.cross(K, t, axis=0)
        twists = (M * t).sum(axis=0)
        pulls = -np.cross(t, np.broadcast_to(force, t.shape), axis=0)
        return length * np.vstack([t, bends, M - twists * t - w * bends, twists[None] / TWISTING, pulls])

    def ends(top, floor, p):
        omega = p[3]
        at_nozzle = [top[0], top[1], top[2] - 1, top[3], top[4], top[5] + 1, *top[6:9], top[9] - (omega - spin)]
        at_rest = [floor[1], floor[2], floor[3], floor[5], floor[4] + omega * floor[0]]
        return np.array([*at_nozzle, *at_rest, floor[6], floor[8] + omega, floor[9]])

    found = solve_bvp(slopes, ends, *_guess(), tol=1e-6, max_nodes=20000)
    assert found.success
    y, omega = found.sol(np.linspace(0, 1, 2001)), found.p[3]
    speed = np.linalg.norm(y[3:6] + omega * np.stack([-y[1], y[0], 0 * y[0]]), axis=0)
    return Coil(omega, y[0, -1], float(np.interp(0.5, speed[::-1], y[2, ::-1])))


def _guess():
    """A quarter of a turn of a widening helix."""
    s = np.linspace(0, 1, 81)
    radius, angle = 0.25 * s**2, 1.2 * (1 - s)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle), 1 - np.sin(0.5 * np.pi * s)])
    t = np.gradient(x, s, axis=1)
    length = np.trapezoid(np.linalg.norm(t, axis=0), s)
    t /= np.linalg.norm(t, axis=0)
    K = np.cross(t, np.gradient(t, s, axis=1) / length, axis=0)
    return s, np.vstack([x, t, K, 4 * (1 - s), np.zeros((3, len(s)))]), np.array([0, 0, 0, 4, length])
