"""A simulation, or the frames of a run, live in the browser. Optional: pip install 'paddlewheel[view]'."""
