"""What git knows of a tree and of a change: commits, files, differences, and what of it goes onto base.

Belongs here: reading git, judging paths and texts, planning an overlay. Does not belong here: running tests or
judging a change. Nothing here alters the user's work tree, index, refs or configuration; objects are fetched.
"""

from repro_gate.change.claims import Claims, claims, messages_between
from repro_gate.change.configuration import SETTINGS_FILES, Parts, option, parts_changed
from repro_gate.change.diff import Change, ChangeKind, Lines, added_lines, changed_lines, changes
from repro_gate.change.event import Description, describe
from repro_gate.change.git import WRITTEN, Head, head, newest_files
from repro_gate.change.history import named_commit
from repro_gate.change.layout import Layout, is_configuration, is_dependency_file, is_mixed_file, layout_of
from repro_gate.change.lines import executable_lines, statements
from repro_gate.change.overlay import Graft, Overlay, apply, layout_between, plan
from repro_gate.change.own_repository import leave_unnoticed, own_repository
from repro_gate.change.repository import Repository, open_repository
from repro_gate.change.resolver import How, Moved, Pair, resolve
from repro_gate.change.trees import Entry, Kind, Materialised, entries, materialise

__all__ = [
    "SETTINGS_FILES",
    "WRITTEN",
    "Change",
    "ChangeKind",
    "Claims",
    "Description",
    "Entry",
    "Graft",
    "Head",
    "How",
    "Kind",
    "Layout",
    "Lines",
    "Materialised",
    "Moved",
    "Overlay",
    "Pair",
    "Parts",
    "Repository",
    "added_lines",
    "apply",
    "changed_lines",
    "changes",
    "claims",
    "describe",
    "entries",
    "executable_lines",
    "head",
    "is_configuration",
    "is_dependency_file",
    "is_mixed_file",
    "layout_between",
    "layout_of",
    "leave_unnoticed",
    "materialise",
    "messages_between",
    "named_commit",
    "newest_files",
    "open_repository",
    "option",
    "own_repository",
    "parts_changed",
    "plan",
    "resolve",
    "statements",
]
