"""What mse is measured against; ``python benchmarks/run.py`` runs everything.  Models and references come from ``tests``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
