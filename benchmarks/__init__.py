"""What mse is measured against; ``python benchmarks/run.py`` runs everything.  Models come from ``tests/models.py``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
