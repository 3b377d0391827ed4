"""The benchmarks: that they measure what they say. How fast things are is not a test."""

import json
import os

import numpy as np
import pytest
from rich.console import Console

from paddlewheel import benchmark
from paddlewheel.output import picture
from paddlewheel.physics.pressure import assemble
from paddlewheel.scene import SOLVERS


@pytest.fixture(scope="module")
def result():
    return benchmark.pressure(benchmark.ladder([12, 16], tolerance=1e-8))


def test_the_ladder_leaves_out_what_takes_minutes():
    cases = benchmark.ladder()
    assert [c.cells for c in cases if c.solver == "multigrid"] == [32, 64, 96, 128, 160, 192]
    assert max(c.cells for c in cases if c.solver == "mic") == benchmark.MOST_MIC
    assert [c.cells for c in benchmark.ladder([160, 192], "mic")] == [160, 192]


@pytest.mark.parametrize("wrong", [{"cells": [4]}, {"cells": []}, {"tolerance": 0.0}, {"tolerance": 1.0}])
def test_a_wrong_ladder_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        benchmark.ladder(**wrong)


def test_the_reference_case_has_459_thousand_unknowns():
    assert np.count_nonzero(assemble(*benchmark.scene(128)).unknown) == pytest.approx(459_000, rel=1e-3)


def test_rows_hold_together(result):
    assert [(r["cells"], r["solver"]) for r in result["rows"]] == [(n, s) for s in SOLVERS for n in (12, 16)]
    for row in result["rows"]:
        assert row["converged"]
        assert row["residual"] <= 1e-8
        assert row["residual"] <= 2 * row["reported_residual"] + 1e-15
        assert set(row["seconds"]) == {*benchmark.STAGES, "total"}
        assert all(seconds > 0 for seconds in row["seconds"].values())
        assert row["repetitions"] >= 3
        assert row["peak_bytes"] > row["bytes_per_cell"] * row["cells"] ** 3
        assert row["bandwidth_fraction"] == pytest.approx(row["bytes_moved"] / row["seconds"]["solve"] / row["triad"])


def test_the_triad_is_a_bandwidth():
    assert 1e8 < benchmark.triad_bandwidth(1 << 18, 2) < 1e13


def test_results_are_told_and_drawn(result, tmp_path):
    assert json.loads(json.dumps(result)) == result
    console = Console(file=open(os.devnull, "w"), record=True, width=140)  # noqa: SIM115
    console.print(benchmark.pressure_table(result), *benchmark.pressure_summary(result))
    text = console.export_text()
    assert "…" not in text
    assert "16³: multigrid is" in text
    picture.draw_scaling(result, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


def test_a_case_that_dies_is_named():
    with pytest.raises(OSError, match=r"run_case\(16, 'no such solver', 1e-06\).*no such solver"):
        benchmark.pressure([benchmark.Case(16, "no such solver", 1e-6)])


@pytest.mark.slow
def test_first_use_compiles_once_and_within_45_seconds():
    """In processor time, so that what else runs on the machine does not count."""
    result = benchmark.startup()
    assert result["first"]["converged"]
    assert 0 < result["first"]["processor_seconds"] < 45
    assert result["second"]["compile_seconds"] == 0
    assert result["second"]["processor_seconds"] < 6  # two threads, three seconds
