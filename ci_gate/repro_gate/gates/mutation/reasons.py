"""Reason codes of the gate, and the next step for each: docs/gates/mutation.md explains them.

Belongs here: codes and words. Does not belong here: when which one is given (verdict).
"""

from __future__ import annotations

import enum


class Reason(enum.StrEnum):
    """Why the gate came to its verdict, or what a finding of it is about."""

    ALL_DETECTED = "all_detected"
    SCORE = "score"
    WITHIN_ALLOWANCE = "within_allowance"
    SURVIVORS = "survivors"
    LOW_SCORE = "low_score"
    TOO_MANY_WAIVERS = "too_many_waivers"
    SCORE_UNCLEAR = "score_unclear"
    PARTLY_TESTED = "partly_tested"
    TOO_MANY_TIMEOUTS = "too_many_timeouts"
    UNMEASURED = "unmeasured"
    NOT_WHOLE = "run_not_whole"
    BUDGET = "budget"
    NOTHING_TO_MUTATE = "nothing_to_mutate"
    NOT_COVERED = "not_covered"
    ALL_WAIVED = "all_waived"
    SURVIVED = "survived"
    MORE_SURVIVORS = "more_survivors"
    TIMEOUT = "timeout"
    INCONCLUSIVE = "inconclusive"
    WAIVER_NEW = "waiver_new"
    WAIVER_EXPIRED = "waiver_expired"
    WAIVER_WITHOUT_REASON = "waiver_without_reason"


_TELL_APART = "Add a test that passes with the original and fails with the mutant, or waive the mutant with a reason."

# The table of docs/gates/mutation.md says the same; a test compares the two.
NEXT_STEP: dict[Reason, str] = {
    Reason.ALL_DETECTED: "Nothing.",
    Reason.SCORE: "Nothing.",
    Reason.WITHIN_ALLOWANCE: "Nothing; the survivors are worth a look.",
    Reason.SURVIVORS: _TELL_APART,
    Reason.LOW_SCORE: "Add tests for the survivors that are shown.",
    Reason.TOO_MANY_WAIVERS: "Add tests in place of some waivers, or raise `max-waivers` in a change of its own.",
    Reason.SCORE_UNCLEAR: "Nothing; so few mutants decide neither way.",
    Reason.PARTLY_TESTED: "Raise `mutation-budget` where all mutants must be tested.",
    Reason.TOO_MANY_TIMEOUTS: "Run the check on a machine that is less busy; give the tests limits of their own.",
    Reason.UNMEASURED: "Look at the controls in the report: they say what stood in the way.",
    Reason.NOT_WHOLE: "Mend what ended the run (or give it more time), and run the check again.",
    Reason.BUDGET: "Raise `mutation-budget`.",
    Reason.NOTHING_TO_MUTATE: "Nothing; the account says for each line why.",
    Reason.NOT_COVERED: "Add tests that run the changed lines.",
    Reason.ALL_WAIVED: "Nothing; the reasons are in the report.",
    Reason.SURVIVED: _TELL_APART,
    Reason.MORE_SURVIVORS: "`repro-gate mutant list` shows all of them.",
    Reason.TIMEOUT: "Look whether the test waits without a limit.",
    Reason.INCONCLUSIVE: "Run the check again; if it stays, run the named test alone.",
    Reason.WAIVER_NEW: "Review the waiver like code: this change adds it.",
    Reason.WAIVER_EXPIRED: "Add a test for the mutant, or renew the waiver with its reason.",
    Reason.WAIVER_WITHOUT_REASON: "Write the reason behind the pragma: `# pragma: no mutate -- reason`.",
}
