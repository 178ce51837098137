"""Where tests find their references and the examples, and what other processes need to import what these define."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
REFERENCE = TESTS / "reference"

# what pytest puts on the path of imports (pyproject.toml)
IMPORTED = [str(folder) for folder in (ROOT, TESTS, *sorted({p.parent for p in TESTS.rglob("test_*.py")} - {TESTS}))]
