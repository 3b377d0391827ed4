"""What the page says of a frame, in figures: Markdown."""

from paddlewheel.output.viewer.session import Snapshot

STAGES = 5  # that are named; the others are summed up


def table(snapshot: Snapshot) -> str:
    """Frame, time, rate, volume, iterations, and seconds of the longest stages."""
    report = snapshot.report
    rate = f"{snapshot.rate:.1f} frames/s" if snapshot.rate else ("…" if snapshot.playing else "paused")
    rows = [("**frame**", f"**{snapshot.number}**, {snapshot.time:.3f} s"), ("**rate**", rate)]
    if report is not None:
        if snapshot.density is None:
            rows.append(("volume", f"{report.volume:.5g} m³"))
        else:
            rows.append(("smoke", f"{report.smoke:.4g} m³ at density 1"))
        rows.append(("steps", str(report.substeps)))
        rows += [(name, text) for name, text in _solves(report).items()]
        rows += _stages(report.seconds)
    lines = ["| | |", "|:--|--:|", *(f"| {name} | {value} |" for name, value in rows)]
    notes = [snapshot.note, *(report.warnings if report is not None else [])]
    return "\n".join(lines + [f"\n⚠ {note}" for note in notes if note])


def _solves(report) -> dict[str, str]:
    """Iterations of each kind of solve: all of the frame."""
    found = {}
    for name in dict.fromkeys(solve.name for solve in report.solves):
        mine = [solve.iterations for solve in report.solves if solve.name == name]
        times = f" in {len(mine)} solves" if len(mine) > 1 else ""
        found[name] = f"{sum(mine)} iterations{times}"
    return found


def _stages(seconds) -> list[tuple[str, str]]:
    longest = sorted(seconds.items(), key=lambda stage: -stage[1])
    rows = [(f"*{stage}*", f"{1000 * value:.1f} ms") for stage, value in longest[:STAGES]]
    rest = sum(value for _, value in longest[STAGES:])
    return [*rows, ("*other stages*", f"{1000 * rest:.1f} ms"), ("*all*", f"{1000 * sum(seconds.values()):.1f} ms")]
