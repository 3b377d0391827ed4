"""The script that builds a scene in Blender from USD files. It is not imported: only Blender can."""

from pathlib import Path

_SCRIPT = Path(__file__).with_name("blender_scene.py")
_RATE = "FPS = 24.0\n"  # a line of it


def blender_script(fps: float) -> str:
    """The script, for a run of so many frames per second: Blender does not ask USD for them."""
    before, found, after = _SCRIPT.read_text().partition(_RATE)
    if not found:
        raise ValueError(f"{_SCRIPT}: has no line {_RATE.strip()!r}")
    return f"{before}FPS = {fps!r}\n{after}"
