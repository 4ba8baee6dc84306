"""Lets tests import the modules beside them, which are also run as programs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
collect_ignore = ["fuzzing.py", "mutation.py", "readers.py", "run.py"]
