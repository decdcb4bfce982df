"""Policies over experiments: which to ask for, and what their results mean for a change.

Belongs here: one gate each, with an id, reason codes and a page in docs/gates. Does not belong
here: running tests (experiment), reading git (change), rendering (report).
"""
