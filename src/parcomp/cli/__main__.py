"""``python -m parcomp.cli`` is ``parcomp``."""

import sys

from parcomp.cli.app import main

sys.exit(main())
