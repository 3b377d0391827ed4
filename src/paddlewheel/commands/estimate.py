"""`paddlewheel run --dry-run`: what a run will cost."""

import math
from collections.abc import Callable

import numpy as np
from rich.table import Table

from paddlewheel.measure import Solids, liquid_distance
from paddlewheel.scene import Inflow, Scene
from paddlewheel.step import WAVES
from paddlewheel.types import BYTES_PER_CELL

# Of one step with two threads: those of `bench liquid` at 64³ and 128³, where particles are twice as many as cells.
SECONDS_PER_CELL = 8e-8
SECONDS_PER_PARTICLE = 8e-8
SECONDS_PER_STEP = 2e-3  # whatever its size: a step of 8 × 8 cells
_COPIES = 3  # of the particles, while they are sorted and moved


def estimate(guarded: Callable, scene: Scene, frames: int) -> Table:
    """Cells, particles, memory, disk and time of so many frames.

    They follow from the volume of the liquid and constants: nothing is simulated.
    """
    grid = scene.grid
    cells = math.prod(grid.shape)
    particles = guarded(lambda: particle_count(scene))
    per_particle = 60 if scene.method.advection == "apic" else 24
    memory = cells * BYTES_PER_CELL + _COPIES * particles * per_particle
    disk, steps = frame_bytes(scene, particles), step_count(scene)
    seconds = steps * (SECONDS_PER_STEP + cells * SECONDS_PER_CELL + particles * SECONDS_PER_PARTICLE)
    table = Table("what", "estimate", "", box=None, pad_edge=False, show_header=False)
    table.add_row("cells", " × ".join(map(str, grid.shape)), f"{cells} of {grid.h:.4g} m")
    later = ", and what flows in" if any(isinstance(item, Inflow) for item in scene.items) else ""
    table.add_row("particles", f"{particles}", f"from the liquid's volume at the start{later}")
    table.add_row("memory", _bytes(memory), "")
    table.add_row("disk", _bytes(disk), f"for each frame; {_bytes(frames * disk)} for {frames}")
    table.add_row("steps", f"{steps}", "for each frame, if liquid falls as far as the domain is high")
    whole = f"{_duration(frames * seconds)} for {frames}"
    rough = "from rough constants for two threads, not measured here"
    table.add_row("time", _duration(seconds), f"for each frame; {whole}; {rough}")
    return table


def particle_count(scene: Scene) -> int:
    """Particles at the start: of the cells, the part that liquid fills and solids do not, times those of a full one."""
    grid = scene.grid
    phi = liquid_distance(grid, scene.items)
    nodes = Solids(grid, scene.items, scene.method.weights, scene.open_sides).measure(0.0).phi
    solid = sum(
        nodes[i : i + grid.shape[0], j : j + grid.shape[1], k : k + grid.shape[2]]
        for i in (0, 1) for j in (0, 1) for k in (0, 1)
    )  # fmt: skip
    full = np.clip(0.5 - np.maximum(phi, -solid / 8) / grid.h, 0, 1)
    each = scene.particles_per_axis ** (2 if grid.is_2d else 3)
    return round(float(full.sum(dtype=np.float64)) * each)


def frame_bytes(scene: Scene, particles: int) -> int:
    """What the file of a frame takes: velocity and shift on faces, pressure and φ at cells, and the particles."""
    faces = sum(math.prod(scene.grid.face_shape(a)) for a in range(3))
    per_particle = 60 if scene.method.advection == "apic" else 24
    return 2 * 4 * faces + (8 + 4) * math.prod(scene.grid.shape) + per_particle * particles


def step_count(scene: Scene) -> int:
    """Steps of a frame in which liquid moves as fast as a fall through the whole domain makes it, √(2 g·size)."""
    h, g = scene.grid.h, math.hypot(*scene.gravity)
    speed = math.sqrt(2 * sum(abs(g) * side for g, side in zip(scene.gravity, scene.grid.size, strict=True)))
    per_second = max(speed / (scene.method.cfl * h), math.sqrt(g / h) / WAVES)
    return max(1, math.ceil(per_second / scene.fps))


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _bytes(count: float) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
