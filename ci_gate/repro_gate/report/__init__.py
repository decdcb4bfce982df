"""A result as terminal text, Markdown, JSON, JUnit XML and SARIF.

Belongs here: pure functions from a FlakeReport or a CheckReport to text or data, and the exit code that follows
from it. Does not belong here: judging a test (flake), opening files, or printing (cli).
"""
