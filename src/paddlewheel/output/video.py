"""Pictures as a film, with ffmpeg, which is optional: pip install 'paddlewheel[video]'."""

import subprocess
from pathlib import Path

from paddlewheel.output.picture import MissingExtraError


def ffmpeg() -> str:
    """The program, which comes with the package imageio-ffmpeg."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingExtraError("films need imageio-ffmpeg: pip install 'paddlewheel[video]'") from error
    return imageio_ffmpeg.get_ffmpeg_exe()


def write_video(path: Path, pictures: list[Path], fps: float) -> None:
    """An MP4 of pictures of one size, which must be even, in their order; one each 1/fps.

    They are piped as files one after the other, so that their names need no pattern.
    """
    command = [
        ffmpeg(), "-y", "-loglevel", "error", "-f", "image2pipe", "-c:v", "png", "-framerate", f"{fps:g}", "-i", "-",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", "-f", "mp4", str(path),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for picture in pictures:
            process.stdin.write(picture.read_bytes())
    except BrokenPipeError:  # what went wrong is on its standard error
        pass
    except BaseException:
        process.kill()
        raise
    finally:
        _, errors = process.communicate()
    if process.returncode:
        raise ValueError(f"{path}: ffmpeg: {errors.decode(errors='replace').strip()}")
