"""One address to bytes, by https alone.

Belongs here: the transport. Does not belong here: what is asked for, and whether it is the right thing (replaying).
"""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException

from repro_gate.errors import FetchFailed

_SECONDS = 60


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """A redirection may not lead where the address itself could not."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if not newurl.startswith("https://"):
            raise urllib.error.HTTPError(newurl, code, "a redirection to something other than https", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, most: int) -> bytes:
    """What an address holds, at most so many bytes; no credentials are sent. Raises FetchFailed."""
    opener = urllib.request.build_opener(_OnlyHttps)
    try:
        with opener.open(urllib.request.Request(url, headers={"Accept": "*/*"}), timeout=_SECONDS) as answer:  # noqa: S310
            data = bytes(answer.read(most + 1))
    except (OSError, HTTPException, ValueError) as broken:
        raise FetchFailed(f"Cannot fetch {url!r}: {broken}.") from broken
    if len(data) > most:
        raise FetchFailed(f"What {url!r} holds is larger than {most >> 20} MiB.")
    return data
