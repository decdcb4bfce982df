"""A campaign's result as terminal text, JSON and JUnit XML.

Belongs here: pure functions from a FlakeReport to text or data, and the exit code that follows
from it. Does not belong here: judging a test (flake), opening files, or printing (cli).
"""
