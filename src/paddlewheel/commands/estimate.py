"""`paddlewheel run --dry-run`: what a run will cost."""

import math
from collections.abc import Callable

import numpy as np
from rich.table import Table

from paddlewheel.emitters import Emitters, largest_given
from paddlewheel.friction import Friction
from paddlewheel.grid.cells import at_centres
from paddlewheel.items import Inflow, RigidBody, Smoke, labelled, velocity_at
from paddlewheel.measure import Solids, liquid_distance
from paddlewheel.scene import Scene
from paddlewheel.smoke import memory_of_gas
from paddlewheel.step import WAVES
from paddlewheel.types import BYTES_PER_CELL

# Of one step with two threads: those of `bench liquid` at 64³ and 128³, where particles are twice as many as cells.
SECONDS_PER_CELL = 8e-8
SECONDS_PER_CELL_OF_GAS = 3.5e-7  # which all have pressure; measured at 64³ and 96³
SECONDS_PER_PARTICLE = 8e-8
SECONDS_PER_STEP = 2e-3  # whatever its size: a step of 8 × 8 cells
# What viscosity adds for each cell of liquid: at 64³, with 11 iterations.
VISCOUS_BYTES, VISCOUS_SECONDS = 450, 2.5e-6
_ID_BYTES = 4  # of a particle, in a run that is kept
_COPIES = 3  # of the particles, while they are sorted and moved


def estimate(guarded: Callable, scene: Scene, frames: int) -> Table:
    """Cells, particles, memory, disk and time of so many frames.

    They follow from the volume of the liquid or the gas and constants: nothing is simulated.
    """
    grid, gas = scene.grid, scene.has_smoke
    cells = math.prod(grid.shape)
    particles = guarded(lambda: particle_count(scene))
    markers, per_second = guarded(lambda: marker_count(scene))
    points = particles * (scene.bytes_per_particle + _ID_BYTES)
    memory = memory_of_gas(scene, particles) if gas else cells * BYTES_PER_CELL + _COPIES * points
    disk = frame_bytes(scene, particles, markers + round(0.5 * per_second * frames / scene.fps))
    steps = guarded(lambda: step_count(scene))
    each_cell = SECONDS_PER_CELL_OF_GAS if gas else SECONDS_PER_CELL
    seconds = SECONDS_PER_STEP + cells * each_cell + particles * SECONDS_PER_PARTICLE
    if Friction(scene).acts:
        full = particles / scene.particles_per_cell  # cells
        memory, seconds = memory + round(VISCOUS_BYTES * full), seconds + VISCOUS_SECONDS * full
    seconds *= steps
    table = Table("what", "estimate", "", box=None, pad_edge=False, show_header=False)
    table.add_row("cells", " × ".join(map(str, grid.shape)), f"{cells} of {grid.h:.4g} m")
    table.add_row("particles", f"{particles}", _where_from(scene))
    if markers or per_second:
        table.add_row("markers", f"{markers}", f"at the start; {per_second} more each second")
    table.add_row("memory", _bytes(memory), "")
    table.add_row("disk", _bytes(disk), f"for each frame; {_bytes(frames * disk)} for {frames}")
    moving = "smoke rises or sinks" if gas else "liquid falls"
    table.add_row("steps", f"{steps}", f"for each frame, if {moving} as far as the domain is high")
    whole = f"{_duration(frames * seconds)} for {frames}"
    rough = "from rough constants for two threads, not measured here"
    table.add_row("time", _duration(seconds), f"for each frame; {whole}; {rough}")
    return table


def _where_from(scene) -> str:
    if scene.has_smoke:
        return "all over the gas" if scene.has_particles else "the grid carries the smoke"
    if not scene.has_particles:
        return "only the surface is tracked"
    later = ", and what flows in" if any(isinstance(item, Inflow) for item in scene.items) else ""
    return f"from the liquid's volume at the start{later}"


def particle_count(scene: Scene) -> int:
    """Particles at the start: of the cells, the part that liquid fills and solids do not, times those of a full one.

    Gas fills all of them, if particles carry it.
    """
    grid = scene.grid
    if not scene.has_particles:
        return 0
    phi = -grid.h if scene.has_smoke else liquid_distance(grid, scene.items)
    solid = Solids(grid, scene.items, scene.method.weights, scene.open_sides).measure(0.0).phi
    full = np.clip(0.5 - np.maximum(phi, -at_centres(solid)) / grid.h, 0, 1)
    return round(float(full.sum(dtype=np.float64)) * scene.particles_per_cell)


def marker_count(scene: Scene) -> tuple[int, int]:
    """Markers of smoke at the start, and how many sources add in a second, if no solid is in their way."""
    if not any(item.markers for _, item in labelled(scene.items, Smoke)):
        return 0, 0
    emitters = Emitters(scene)
    return tuple(len(emitters.markers(0, lambda points: np.ones(len(points), bool), dt)) for dt in (None, 1.0))


def frame_bytes(scene: Scene, particles: int, markers: int = 0) -> int:
    """What the file of a frame takes: velocity and shift on faces, pressure and φ at cells, and the particles.

    And of smoke, what is ahead of its velocity, its density and temperature at cells, and the markers.
    """
    faces = sum(math.prod(scene.grid.face_shape(a)) for a in range(3))
    per_cell = 8 + 4 + (4 + 4) * scene.has_smoke
    per_face = 4 * (2 + scene.has_smoke)
    points = (scene.bytes_per_particle + _ID_BYTES) * particles + 12 * markers
    return per_face * faces + per_cell * math.prod(scene.grid.shape) + points


def step_count(scene: Scene) -> int:
    """Steps of a frame in which the fluid moves as fast as a way through the whole domain makes it, √(2 a·size).

    a is gravity, or buoyancy of the densest and hottest smoke. Gas is at least as fast as what stirs it at the start.
    """
    h, g, cfl = scene.grid.h, math.hypot(*scene.gravity), scene.method.cfl
    fall = sum(abs(a) * side for a, side in zip(scene.gravity, scene.grid.size, strict=True))  # g·size
    if not scene.has_smoke:
        return _steps(scene, max(math.sqrt(2 * fall) / (cfl * h), math.sqrt(g / h) / WAVES))
    emitters = Emitters(scene)
    lift = sum(abs(b) * most for b, most in zip(scene.buoyancy, largest_given(scene), strict=True)) if g else 0.0
    speed = max(math.sqrt(2 * lift * fall / (g or 1)), emitters.fastest, _stirring_speed(scene))
    return _steps(scene, speed / min(cfl * h, emitters.thinnest))


def _steps(scene, per_second) -> int:
    return max(1, math.ceil(per_second / scene.fps))


def _stirring_speed(scene) -> float:
    """The largest velocity component of solids, bodies and inflows at the start [m/s]."""
    fastest = Solids(scene.grid, scene.items, scene.method.weights, scene.open_sides).fastest(0.0)
    given = [item.velocity for _, item in labelled(scene.items, RigidBody)]
    for name, item in labelled(scene.items, Inflow):
        points = scene.grid.cell_points().reshape(-1, 3)
        given.extend(velocity_at(name, item, points[item.shape.distance(points) < 0]))
    return max(fastest, float(np.abs(given).max(initial=0.0)))


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _bytes(count: float) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
