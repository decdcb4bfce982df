"""Plan -> run -> verdict: what a whole job does, from settings to a report.

Belongs here: putting rooms together. Does not belong here: printing, or knowing how any of it works.
"""

from repro_gate.pipeline.publish import Publisher
from repro_gate.pipeline.scan import Effects, Request, open_lab, scan

__all__ = ["Effects", "Publisher", "Request", "open_lab", "scan"]
