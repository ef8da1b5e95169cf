"""``python -m parcomp.cli`` is ``parcomp``."""

import sys

from parcomp.cli import main

sys.exit(main())
