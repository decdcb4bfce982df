"""What git knows of a tree: commit, cleanliness, and which files are new.

Belongs here: reading git. Does not belong here: running tests or judging a change.
"""

from repro_gate.change.git import Head, head, newest_files

__all__ = ["Head", "head", "newest_files"]
