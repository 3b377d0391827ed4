"""`python -m paddlewheel` is the command `paddlewheel`."""

import sys

from paddlewheel.cli import main

sys.exit(main())
