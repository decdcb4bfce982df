"""Patience with an API that limits, fails, hangs, or does what it was asked and does not say so.

Belongs here: whether and when something is tried again, and the one total that all of it may take. Does not belong
here: what is asked (remote).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from repro_gate.errors import GitHubRefused, GitHubUnavailable, ReproGateError

ONE_CALL = 20  # seconds without a byte, until a call is given up
TRIES = 4
TOTAL = 90.0  # seconds of failed calls and of waiting in all: a report is not worth more of a runner's time

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """``sleep`` in seconds, ``now`` in seconds since 1970: what GitHub's limits are told in."""

    sleep: Callable[[float], None]
    now: Callable[[], float]


class Patience:
    """Of one step of a job. ``ask`` and ``write`` raise GitHubRefused, or GitHubUnavailable when it is at an end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spent = 0.0

    def ask(self, do: Callable[[], _Answer]) -> _Answer:
        """A question: it may be put again whatever became of it."""
        return self._tried(do, lambda: None)

    def write(self, do: Callable[[], _Answer], done: Callable[[], _Answer | None] = lambda: None) -> _Answer:
        """A change. One that may have happened unheard is repeated only where ``done`` does not find it.

        Without ``done`` it must be one that comes to the same when it is made twice.
        """
        return self._tried(do, lambda: self.ask(done))

    def _tried(self, do: Callable[[], _Answer], done: Callable[[], _Answer | None]) -> _Answer:
        for turn in range(TRIES):
            if self._spent + ONE_CALL > TOTAL:
                raise GitHubUnavailable(f"GitHub does not answer: {self._spent:.0f} seconds were lost on it before.")
            begun = self._clock.now()
            try:
                return do()
            except Exception as broken:  # noqa: BLE001 - sorted out in `_pause`
                if not isinstance(broken, ReproGateError):  # one of a question inside of this one, which has counted it
                    self._spent += max(0.0, self._clock.now() - begun)
                self._wait(broken, turn)
                # A limit says that nothing was done; anything else may have come too late to say so.
                if _limit(broken) is None and (there := done()) is not None:
                    return there
        raise AssertionError

    def _wait(self, broken: Exception, turn: int) -> None:
        """Until it is worth another try, which must be able to end within the total."""
        pause = self._pause(broken, turn)
        if turn == TRIES - 1 or self._spent + pause + ONE_CALL > TOTAL:
            raise GitHubUnavailable(f"GitHub does not answer: {_told(broken)}.") from broken
        self._clock.sleep(pause)
        self._spent += pause

    def _pause(self, broken: Exception, turn: int) -> float:
        """Seconds until it is worth another try. Raises GitHubRefused or GitHubUnavailable where it never is."""
        from github import GithubException
        from requests import RequestException

        if isinstance(broken, RequestException | OSError):
            return float(2**turn)
        if isinstance(broken, ReproGateError):
            raise broken
        if not isinstance(broken, GithubException):  # its client met an answer of another form
            raise GitHubUnavailable(
                f"GitHub answers in a form that its client does not know: {broken!r:.200}."
            ) from broken
        limit = _limit(broken)
        if limit is not None:
            return max(1.0, limit if limit >= 0 else -limit - self._clock.now())
        if broken.status >= 500:
            return float(2**turn)
        if broken.status in (401, 403, 404):
            raise GitHubRefused(f"GitHub refuses it to this token: {_told(broken)}.") from broken
        raise GitHubUnavailable(f"GitHub does not take it: {_told(broken)}.") from broken


def _limit(broken: Exception) -> float | None:
    """Seconds to wait, or minus the time when a limit ends; None where no limit is the reason."""
    headers = {name.lower(): value for name, value in (getattr(broken, "headers", None) or {}).items()}
    if getattr(broken, "status", 0) not in (403, 429):
        return None
    if str(headers.get("retry-after", "")).isdecimal():
        return float(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and str(headers.get("x-ratelimit-reset", "")).isdecimal():
        return -float(headers["x-ratelimit-reset"])
    text = str(getattr(broken, "data", "")).lower()
    return 60.0 if "rate limit" in text or broken.status == 429 else None  # type: ignore[attr-defined]


def _told(broken: Exception) -> str:
    data = getattr(broken, "data", None)
    message = data.get("message") if isinstance(data, dict) else None
    status = getattr(broken, "status", "")
    return ascii(f"{status} {message or type(broken).__name__}".strip())[1:-1][:300]
