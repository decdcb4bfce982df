"""Start, bound, drain, kill the group: the only room that uses subprocess.

Belongs here: operating-system processes and nothing about what they are for.
"""

from repro_gate.process.children import adopt_orphans, end_descendants, resident
from repro_gate.process.launch import Completed, Process, run, start

__all__ = ["Completed", "Process", "adopt_orphans", "end_descendants", "resident", "run", "start"]
