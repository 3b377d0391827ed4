"""Liquid that may leave walls: what the bounded pressure costs beside the linear one, in B07's figure 6 in 3-D."""

from collections.abc import Callable, Iterable

import numpy as np
from rich import box
from rich.table import Table

from paddlewheel.benchmark.machine import (
    checked_cells,
    checked_count,
    in_process,
    load,
    machine,
    remarks,
    triad_bandwidth,
)
from paddlewheel.kernel import compile_seconds
from paddlewheel.physics.pressure import project
from paddlewheel.run import Simulation
from paddlewheel.scene import Scene
from paddlewheel.step import Stepper

WALL_CELLS = (64, 128)
WALL_STEPS = 30
BEGIN = 0.06  # s: as the ball of the gallery's `separation` meets the wall
WAYS = ("linear", "warm", "cold")
_REPETITIONS = 2  # of each way; the faster one counts


def walls(
    scene: Callable[[int], Scene],
    cells: Iterable[int] = WALL_CELLS,
    steps: int = WALL_STEPS,
    progress: Callable[[list], Iterable] = iter,
) -> dict:
    """Run a scene on every grid, each in its own process, and gather what docs/benchmarks.md describes."""
    before, steps = load(), checked_count("steps", steps)
    rows = [in_process(run_walls, scene, n, steps, name=f"walls {n}³") for n in progress(list(checked_cells(cells)))]
    return {"benchmark": "walls", "machine": machine(rows, before), "rows": rows}


def run_walls(scene: Callable[[int], Scene], cells: int, steps: int = WALL_STEPS) -> dict:
    """One row: steps from when the liquid meets the wall, in each of which the pressure is found in all three ways."""
    simulation = Simulation(scene(cells))
    while simulation.time < BEGIN:
        simulation.step()
    stepper = _Compared(simulation.scene)
    for _ in range(steps):
        simulation.state, _ = stepper.step(simulation.state, stepper.limit(simulation.state))
    iterations, seconds = (np.array([[way[part] for way in found] for found in stepper.found]) for part in (0, 1))
    return {
        "cells": cells,
        "steps": steps,
        "unknowns": stepper.unknowns,
        "loose": stepper.loose,
        "iterations": dict(zip(WAYS, np.median(iterations, axis=0).tolist(), strict=True)),
        "seconds": dict(zip(WAYS, np.median(seconds, axis=0).tolist(), strict=True)),
        "over_linear": {
            way: {
                "iterations": float(np.median(iterations[:, n] / iterations[:, 0])),
                "seconds": float(np.median(seconds[:, n] / seconds[:, 0])),
                "seconds_most": float(np.max(seconds[:, n] / seconds[:, 0])),
            }
            for n, way in enumerate(WAYS[1:], 1)
        },
        "residual": max(stepper.residuals),
        "compile_seconds": compile_seconds(),
        "triad": triad_bandwidth(),
    }


class _Compared(Stepper):
    """The steps of a scene, with iterations and seconds of each pressure solve in all WAYS.

    found      for each step (iterations, seconds) of each way
    residuals  of those with the bound
    unknowns   cells with a pressure in the last step
    loose      the most cells in which liquid left a wall
    """

    def __init__(self, scene):
        super().__init__(scene)
        self.found, self.residuals, self.unknowns, self.loose = [], [], 0, 0

    def projected(self, window, velocity, phi, boundary, bodies, time, dt, *, separating, start=None, **rest):
        bound, kept = separating, {"separating": separating, "start": start, **rest}
        ways = [(None, start), (bound, start), (bound, None)]
        found = []
        for separating, begin in ways:
            infos = [
                project(window.grid, velocity, phi, boundary, dt, separating=separating, start=begin).info
                for _ in range(_REPETITIONS)
            ]
            found.append((infos[0].iterations, min(info.seconds for info in infos)))
            self.residuals += [infos[0].residual] if separating is not None else []
        self.found.append(found)
        coupling = super().projected(window, velocity, phi, boundary, bodies, time, dt, **kept)
        self.unknowns = coupling.projection.info.unknowns
        if coupling.projection.loose is not None:
            self.loose = max(self.loose, int(coupling.projection.loose.sum()))
        return coupling


def walls_table(result: dict) -> Table:
    """One row per grid."""
    table = Table(
        title="the pressure with p ≥ 0 at walls", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
        pad_edge=False,
    )  # fmt: skip
    table.add_column("cells")
    for heading in (
        "unknowns",
        "loose",
        *(f"{way} {of}" for of in ("iterations", "ms") for way in WAYS),
        "warm",
        "cold",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            f"{row['cells']}³",
            f"{row['unknowns']:,}".replace(",", " "),
            f"{row['loose']:,}".replace(",", " "),
            *(f"{row['iterations'][way]:g}" for way in WAYS),
            *(f"{1e3 * row['seconds'][way]:.1f}" for way in WAYS),
            *(f"{row['over_linear'][way]['seconds']:.2f}" for way in WAYS[1:]),
        )
    return table


def walls_summary(result: dict) -> list[str]:
    """What the machine is, in words."""
    return remarks(result)
