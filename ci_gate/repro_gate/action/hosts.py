"""Which hosts a capsule may be fetched from. Pure.

Belongs here: the allow-list, and what is said of a host that is not on it. Does not belong here: the transport
(fetching). The list keeps a job from being sent to places that only its runner can reach; whether a capsule is the
right one says its digest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from repro_gate.errors import FetchFailed

# Releases and their files; artifacts are kept in accounts of GitHub's own with these numbered names.
GITHUBS = ("github.com", "api.github.com", "*.githubusercontent.com", "productionresultssa*.blob.core.windows.net")
PATTERN = re.compile(r"([a-z0-9*-]+(\.[a-z0-9*-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_PLACE = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Hosts:
    """Names of hosts, ``*`` for any part of a name between dots. Without a port they stand for that of https."""

    names: tuple[str, ...]

    def check(self, url: str) -> None:
        """Raises FetchFailed where an address leads to another host, or by another way than https."""
        parts = urlsplit(url)
        # Nothing that two readers could take for two hosts: no user, no backslash, no escape.
        if parts.scheme != "https" or not _PLACE.fullmatch(parts.netloc):
            raise FetchFailed(
                f"The address {url!r} is not of the form https://host/path.", next_step="Correct `capsule-url`."
            )
        place = parts.netloc.lower().removesuffix(f":{_HTTPS}")
        if not any(re.fullmatch(_expression(name), place) for name in self.names):
            raise FetchFailed(
                f"The capsule would be fetched from {place!r}, and may be only from {', '.join(self.names)}.",
                next_step=f"If you trust that host, give the action `capsule-hosts: {place}` in the workflow.",
            )


def default_for(server_url: str, api_url: str) -> Hosts:
    """The server that the job is of, and where github.com keeps releases and artifacts."""
    own = [urlsplit(url).netloc.lower() for url in (server_url, api_url)]
    return Hosts(tuple(dict.fromkeys([*filter(PATTERN.fullmatch, own), *GITHUBS])))


def _expression(name: str) -> str:
    return re.escape(name.removesuffix(f":{_HTTPS}")).replace(r"\*", "[a-z0-9-]+")
