"""The benchmarks: that they measure what they say. How fast things are is not a test."""

import io
import json
import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from rich.console import Console

from paddlewheel import benchmark
from paddlewheel.benchmark.steps import _growth
from paddlewheel.benchmark.viewer import run_viewer
from paddlewheel.commands import bench
from paddlewheel.commands.estimate import particle_count
from paddlewheel.gallery import many_densities, separation
from paddlewheel.method import SOLVERS, Method
from paddlewheel.output import picture
from paddlewheel.physics.pressure import assemble
from paddlewheel.run import Simulation


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
    console = Console(file=io.StringIO(), record=True, width=140)
    console.print(benchmark.pressure_table(result), *benchmark.pressure_summary(result))
    text = console.export_text()
    assert "…" not in text
    assert "16³: multigrid is" in text
    picture.draw_scaling(result, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


def test_a_case_that_dies_is_named():
    with pytest.raises(OSError, match=r"run_case\(16, 'no such solver', 1e-06\).*no such solver"):
        benchmark.pressure([benchmark.Case(16, "no such solver", 1e-6)])


@pytest.fixture(scope="module")
def dam():
    """Two grids of the dam break, and one of them again, two steps longer."""
    ladders = [benchmark.liquid_ladder("dam-break", benchmark.dam_break, [12, 20], 3)]
    ladders += [benchmark.liquid_ladder("dam-break", benchmark.dam_break, [12], 5)]
    return benchmark.liquid([case for ladder in ladders for case in ladder])


def test_the_liquids_are_those_of_the_targets():
    dam, sphere = (bench.LIQUIDS[name] for name in ("dam-break", "sphere"))
    assert dam.cells == (32, 64, 96, 128, 192)
    assert dam.scene(16).method == Method()
    assert Method().tolerance == 1e-6
    assert dam.scene(16).particles_per_cell == 8
    assert particle_count(dam.scene(128)) == pytest.approx(4.0e6, rel=0.02)
    assert sphere.cells == (64, 128)
    assert sphere.scene(16).method.advection == "semi-lagrangian"
    assert sphere.scene(16).method.tolerance == 1e-6


@pytest.mark.parametrize("wrong", [{"cells": [4]}, {"cells": []}, {"cells": [16, 2000]}, {"steps": 0}])
def test_a_wrong_ladder_of_liquid_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        benchmark.liquid_ladder("dam-break", benchmark.dam_break, **wrong)


def test_rows_of_liquid_hold_together(dam):
    assert [(row["cells"], row["steps"]) for row in dam["rows"]] == [(12, 3), (20, 3), (12, 5)]
    for row in dam["rows"]:
        seconds = row["seconds"]
        assert {"pressure", "other"} < set(seconds)
        assert all(spent >= 0 for spent in seconds.values())
        assert 0 < row["fastest"] <= seconds["total"]
        assert row["particles_per_second"] == pytest.approx(row["particles"] / seconds["total"])
        assert row["nanoseconds_per_cell"] == pytest.approx(1e9 * seconds["total"] / row["cells"] ** 3)
        assert row["peak_bytes"] > row["grown_bytes"] >= 0
        assert row["bytes_per_particle"] == pytest.approx(row["grown_bytes"] / row["particles"])
        assert row["bandwidth_fraction"] == pytest.approx(row["bytes_moved"] / seconds["total"] / row["triad"])
        assert row["bytes_moved"] > 144 * row["particles"] + 188 * row["unknowns"]
    assert dam["rows"][2]["simulated_seconds"] > dam["rows"][0]["simulated_seconds"] > 0


def test_a_row_of_liquid_is_what_a_simulation_does(dam):
    simulation = Simulation(benchmark.dam_break(12))
    reports = [simulation.step() for _ in range(benchmark.WARM_STEPS + 5)][benchmark.WARM_STEPS :]
    row = dam["rows"][2]
    assert row["particles"] == len(simulation.state.particles.position)
    assert row["unknowns"] == np.median([report.solves[0].unknowns for report in reports])
    assert row["iterations"] == np.median([report.solves[0].iterations for report in reports])
    assert row["simulated_seconds"] == pytest.approx(sum(report.dt for report in reports))
    assert list(row["seconds"]) == [*reports[0].seconds, "other", "total"]


def test_one_step_is_its_stages_and_takes_the_memory_of_its_particles_twice():
    """Medians of several do not add up. 24 bytes of a particle are in the state, and again while it is sorted."""
    row = benchmark.liquid(benchmark.liquid_ladder("dam-break", benchmark.dam_break, [40], 1))["rows"][0]
    *stages, total = row["seconds"].values()
    assert sum(stages) == pytest.approx(total)
    assert row["fastest"] == total
    assert row["bytes_per_particle"] > 48


def test_bytes_of_a_step_are_those_of_the_documentation(request):
    text = (request.config.rootpath / "docs" / "benchmarks.md").read_text()
    for words, advection in (("FLIP", "flip"), ("semi-Lagrangian", "semi-lagrangian")):
        particle, cell = benchmark.step_traffic(advection)
        assert f"| all, {words} | {particle} | {cell} |" in text
    flip, apic = (benchmark.step_traffic(advection) for advection in ("flip", "apic"))
    assert apic[0] - flip[0] == 4 * 36 - 12  # the gradient sorted, read and written, but no velocity of its own
    assert apic[1] == flip[1]


def test_growth_is_of_the_time_per_cell():
    rows = [{"cells": n, "nanoseconds_per_cell": t} for n, t in ((32, 9.0), (64, 4.0), (128, 3.0), (192, 5.0))]
    assert _growth(rows) == {"128": 0.75, "192": 1.25}
    assert _growth(rows[2:]) == {}


def test_results_of_liquid_are_told_and_drawn(dam, tmp_path):
    assert json.loads(json.dumps(dam)) == dam
    grown = dam | {"ratios": {"time_per_cell_over_64": {"128": 1.1, "192": 1.3}}}
    console = Console(file=io.StringIO(), record=True, width=140)
    console.print(benchmark.liquid_table(dam), benchmark.liquid_stages_table(dam), *benchmark.liquid_summary(grown))
    text = console.export_text()
    assert "…" not in text
    for stage in dam["rows"][0]["seconds"]:
        assert stage in text
    assert "at 192³: 1.30 times that at 64³; it should be at most 1.25" in text
    picture.draw_stages(dam, tmp_path / "liquid.png")
    assert (tmp_path / "liquid.png").stat().st_size > 10_000


def test_a_liquid_that_dies_is_named():
    case = benchmark.LiquidCase("dam-break", 16, None, 1)
    with pytest.raises(OSError, match="dam-break 16³ did not finish: "):
        benchmark.liquid([case])


@pytest.mark.slow
def test_first_use_compiles_once_and_not_too_much():
    """The size of the machine code stands for the time, which is 40 seconds on one machine and 60 on another."""
    result = benchmark.startup()
    assert result["first"]["converged"]
    assert 0 < result["first"]["kernels"] == result["second"]["kernels"] <= 85
    assert result["first"]["code_bytes"] < 5.0e6
    assert result["first"]["compile_seconds"] > 0
    assert result["second"]["compile_seconds"] == 0


@pytest.fixture(scope="module")
def bodies():
    return benchmark.rigid_bodies(benchmark.bodies_ladder([16], [12], [16], (0, 1, 8)), many_densities.scene)


def test_the_bodies_are_those_of_the_targets():
    cases = benchmark.bodies_ladder()
    assert [(case.scene, case.cells) for case in cases[:3]] == [("plane", 40), ("plane", 80), ("container", 90)]
    assert [(case.cells, case.count) for case in cases[3:]] == [(n, m) for n in (64, 128) for m in (0, 1, 8, 64)]
    assert len(benchmark.room(64, 64, 0.1).items) == 65


def test_rows_of_bodies_hold_together(bodies):
    for scene in ("plane", "container"):
        (row,) = bodies[scene]
        assert {"contact", "solids", "pressure", "other", "total"} < set(row["seconds"])
        assert 0 < row["fastest"] <= row["seconds"]["total"]
        assert row["fastest"] <= row["mean"]
    rooms = bodies["room"]
    assert [row["bodies"] for row in rooms] == [0, *[1] * 4, *[8] * 4]
    assert [row["ratio"] for row in rooms[1:5]] == [10.0, 1.0, 0.1, 0.001]
    for row in rooms:
        assert row["converged"]
        assert 0 < row["iterations"] < 15
        assert all(seconds > 0 for seconds in row["seconds"].values())


def test_bodies_are_told(bodies):
    assert json.loads(json.dumps(bodies)) == bodies
    console = Console(file=io.StringIO(), record=True, width=120)
    tables = benchmark.plane_table(bodies), benchmark.container_table(bodies), benchmark.room_table(bodies)
    console.print(*tables, *benchmark.bodies_summary(bodies))
    text = console.export_text()
    assert "…" not in text
    assert "beside none" in text


@pytest.fixture(scope="module")
def walls():
    return benchmark.walls(partial(separation.scene, dimensions=3), [24], steps=16)


def test_rows_of_walls_hold_together(walls):
    (row,) = walls["rows"]
    assert row["loose"] > 0  # else nothing is compared
    assert 0 < row["residual"] <= 1e-6
    for way in ("linear", "warm", "cold"):
        assert row["iterations"][way] > 0
        assert row["seconds"][way] > 0
    assert row["over_linear"]["warm"]["seconds"] <= row["over_linear"]["warm"]["seconds_most"]


def test_walls_are_told(walls):
    assert json.loads(json.dumps(walls)) == walls
    console = Console(file=io.StringIO(), record=True, width=120)
    console.print(benchmark.walls_table(walls), *benchmark.walls_summary(walls))
    text = console.export_text()
    assert "…" not in text
    assert "24³" in text


@pytest.fixture(scope="module")
def smoke():
    cases = [case for case in benchmark.smoke_ladder([16], [12]) if case.program != "phiflow"]
    return benchmark.smoke(cases, frames=2)


def test_rows_of_smoke_hold_together(smoke):
    assert [(row["scene"], row["program"]) for row in smoke["rows"]] == [
        ("paddle", "flip"), ("paddle", "maccormack"), ("plume", "maccormack"),
    ]  # fmt: skip
    for row in smoke["rows"]:
        assert row["iterations"] > 0
        assert (row["particles"] > 0) == (row["program"] == "flip")
        stages = [seconds for stage, seconds in row["seconds"].items() if stage != "total"]
        assert sum(stages) == pytest.approx(row["seconds"]["total"], rel=0.5)


def test_smoke_is_told_with_and_without_a_peer(smoke):
    assert json.loads(json.dumps(smoke)) == smoke
    text = benchmark.smoke_summary(smoke)[0]
    assert "pip install 'paddlewheel[peers]'" in text
    peer = smoke["rows"][0] | {"program": "phiflow", "seconds": {"total": 2 * smoke["rows"][0]["seconds"]["total"]}}
    both = smoke | {"rows": [*smoke["rows"], peer], "ratios": {"paddle 16 flip": 2.0}}
    console = Console(file=io.StringIO(), width=200)
    console.print(benchmark.smoke_table(both), benchmark.smoke_stages_table(both))
    assert "2.0 ×" in console.file.getvalue()
    assert not any("peers" in line for line in benchmark.smoke_summary(both))


@pytest.fixture(scope="module")
def sweeps():
    return benchmark.classic([12, 16, 24])


def test_sweeps_grow_with_the_grid_and_iterations_of_multigrid_do_not(sweeps):
    """Of Gauss and Seidel's as n², with the best factor as n."""
    first, *_, last = (row["iterations"] for row in sweeps["rows"])
    assert [row["unknowns"] for row in sweeps["rows"]] == [n**3 // 2 for n in (12, 16, 24)]
    assert last["relaxation, β₀ = 1"] > 2.5 * first["relaxation, β₀ = 1"]
    assert first["relaxation, best β₀"] < last["relaxation, best β₀"] < 3 * first["relaxation, best β₀"]
    assert last["relaxation, best β₀"] < 0.5 * last["relaxation, β₀ = 1"]
    assert last["multigrid"] <= first["multigrid"] + 2 < 10
    assert all(seconds > 0 for row in sweeps["rows"] for seconds in row["seconds"].values())


def test_sweeps_are_told(sweeps, tmp_path):
    assert json.loads(json.dumps(sweeps)) == sweeps
    console = Console(file=io.StringIO(), record=True, width=160)
    console.print(benchmark.classic_table(sweeps))
    text = console.export_text()
    assert "…" not in text
    assert all(f"{n}³" in text for n in (12, 16, 24))
    assert any(line.startswith("multigrid: as n to the power of") for line in benchmark.classic_summary(sweeps))
    picture.draw_sweeps(sweeps, tmp_path / "sweeps.png")
    assert (tmp_path / "sweeps.png").stat().st_size > 1000


class Clockwork:
    """A viewer of a hundred frames a second, exactly."""

    def __init__(self):
        self.began, self.stopped = time.perf_counter(), threading.Event()

    @contextmanager
    def __call__(self, cells):
        yield benchmark.Viewed("", lambda: self.stopped.wait(60), self.stopped.set, self.frames, lambda: 0)

    def frames(self):
        return int(100 * (time.perf_counter() - self.began))


@pytest.fixture
def short(monkeypatch):
    for name, seconds in {"WARM_SECONDS": 0.0, "WINDOW": 0.5, "PATIENCE": 1.0}.items():
        monkeypatch.setitem(run_viewer.__globals__, name, seconds)


def test_frames_are_counted_by_the_clock(short):
    row = run_viewer(Clockwork(), 20, False, 3)
    assert row["frames_per_second"] == pytest.approx(100, rel=0.05)
    assert row["slowest"] <= row["frames_per_second"] <= row["fastest"]
    assert row["frames"] >= 48 + 150 - 3


def test_a_viewer_that_makes_no_frame_ends_the_benchmark(short):
    clockwork = Clockwork()
    clockwork.frames = lambda: 0
    with pytest.raises(OSError, match=r"waited 1 s for the first frames"):
        run_viewer(clockwork, 20, False, 1)


def test_a_page_is_opened_if_there_is_a_browser(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/chromium")
    assert benchmark.viewer_cases() == [(20, False), (20, True), (32, False), (32, True)]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert benchmark.viewer_cases() == [(20, False), (32, False)]
    with pytest.raises(ValueError, match="cells=4"):
        benchmark.viewer_cases([4])


@pytest.mark.slow
def test_frames_of_the_viewer_are_counted_and_told():
    pytest.importorskip("viser", reason="the extra 'view' is not installed")
    page = benchmark.chromium() is not None
    result = benchmark.viewer(bench.stirred, benchmark.viewer_cases([10]), windows=2)
    assert [(row["cells"], row["page"]) for row in result["rows"]] == [(10, False), (10, True)][: 1 + page]
    for row in result["rows"]:
        assert 0 < row["slowest"] <= row["frames_per_second"] <= row["fastest"]
        assert row["frames"] > 48
    assert json.loads(json.dumps(result)) == result
    console = Console(file=io.StringIO(), record=True, width=120)
    console.print(benchmark.viewer_table(result), *benchmark.viewer_summary(result))
    text = console.export_text()
    assert "…" not in text
    assert "10³" in text
    assert ("drawn by Chromium" in text) == page
