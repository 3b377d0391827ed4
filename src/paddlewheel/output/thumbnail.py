"""Small pictures for pages. Pillow, which reads and writes them, comes with matplotlib."""

from pathlib import Path

LARGEST = (640, 480)  # pixels
_QUALITY = 80


def write_thumbnail(path: Path, picture: Path) -> None:
    """A JPEG of a picture, within LARGEST."""
    from PIL import Image

    with Image.open(picture) as image:
        small = image.convert("RGB")
        small.thumbnail(LARGEST, Image.Resampling.LANCZOS)
        small.save(path, "JPEG", quality=_QUALITY, optimize=True, progressive=True)
