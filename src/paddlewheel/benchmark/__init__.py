"""How fast and how large: the pressure solve and the time step on ladders of grids, and the first use after an install.

Every case runs in a process of its own, so that its peak memory is its own.
docs/benchmarks.md says what each figure means.
"""

from paddlewheel.benchmark.machine import triad_bandwidth
from paddlewheel.benchmark.projection import (
    CELLS,
    MOST_MIC,
    STAGES,
    Case,
    ladder,
    pressure,
    pressure_summary,
    pressure_table,
    scene,
    startup,
    startup_table,
    traffic,
)
from paddlewheel.benchmark.steps import (
    DAM_CELLS,
    SPHERE_CELLS,
    STEPS,
    WARM_STEPS,
    LiquidCase,
    dam_break,
    liquid,
    liquid_ladder,
    liquid_stages_table,
    liquid_summary,
    liquid_table,
    step_traffic,
)

__all__ = [
    "CELLS",
    "DAM_CELLS",
    "MOST_MIC",
    "SPHERE_CELLS",
    "STAGES",
    "STEPS",
    "WARM_STEPS",
    "Case",
    "LiquidCase",
    "dam_break",
    "ladder",
    "liquid",
    "liquid_ladder",
    "liquid_stages_table",
    "liquid_summary",
    "liquid_table",
    "pressure",
    "pressure_summary",
    "pressure_table",
    "scene",
    "startup",
    "startup_table",
    "step_traffic",
    "traffic",
    "triad_bandwidth",
]
