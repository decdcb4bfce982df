"""One address to bytes, by https and from hosts that are allowed.

Belongs here: the transport. Does not belong here: which hosts these are (hosts), what is asked for, and whether it is
the right thing (replaying).
"""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException

from repro_gate.action.hosts import Hosts
from repro_gate.errors import FetchFailed

_SECONDS = 60


class _WithinHosts(urllib.request.HTTPRedirectHandler):
    """A redirection may not lead where the address itself could not."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        try:
            self._hosts.check(newurl)
        except FetchFailed:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, most: int, hosts: Hosts) -> bytes:
    """What an address holds, at most so many bytes; no credentials are sent. Raises FetchFailed."""
    hosts.check(url)
    opener = urllib.request.build_opener(_WithinHosts(hosts))
    try:
        with opener.open(urllib.request.Request(url, headers={"Accept": "*/*"}), timeout=_SECONDS) as answer:  # noqa: S310
            data = bytes(answer.read(most + 1))
    except (OSError, HTTPException, ValueError) as broken:
        if isinstance(broken, urllib.error.HTTPError):
            broken.close()
        raise FetchFailed(f"Cannot fetch {url!r}: {broken}.") from broken
    if len(data) > most:
        raise FetchFailed(f"What {url!r} holds is larger than {most >> 20} MiB.")
    return data
