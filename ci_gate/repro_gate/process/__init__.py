"""Start, bound, drain, kill the group: the only room that uses subprocess.

Belongs here: operating-system processes and nothing about what they are for.
"""

from repro_gate.process.children import adopt_orphans, end_descendants, resident
from repro_gate.process.launch import Answer, Completed, Ended, Process, ask, attend, run, start
from repro_gate.process.output import Kept

__all__ = [
    "Answer",
    "Completed",
    "Ended",
    "Kept",
    "Process",
    "adopt_orphans",
    "ask",
    "attend",
    "end_descendants",
    "resident",
    "run",
    "start",
]
