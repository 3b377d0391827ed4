"""Waiting for what another thread does."""

import time


def until(condition, seconds=60.0):
    """Wait for a condition; whether it came true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
