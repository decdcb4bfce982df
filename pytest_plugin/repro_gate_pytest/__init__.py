"""The half of repro-gate that runs inside the tested project's own pytest process.

Belongs here: what must happen in that process. It imports pytest and the standard library and
nothing else, runs on Python 3.9 and later, and does nothing at all unless it is asked to.

PYTEST_DONT_REWRITE: where it is installed, it is imported before pytest could rewrite it, and a
project that turns warnings into errors must not hear of that.
"""
