"""Plan -> run -> verdict: what a whole job does, from settings to a report.

Belongs here: putting rooms together. Does not belong here: printing, or knowing how any of it works.
"""

from repro_gate.pipeline.bench import open_lab
from repro_gate.pipeline.publish import Publisher
from repro_gate.pipeline.request import Effects, Request
from repro_gate.pipeline.scan import scan

__all__ = ["Effects", "Publisher", "Request", "open_lab", "scan"]
