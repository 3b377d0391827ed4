"""Paddlewheel: water, honey and smoke, coupled to solids of any shape."""
