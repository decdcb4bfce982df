"""A capsule by its address: real https, real redirections, and hosts that are not allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.action.fetching import fetch
from repro_gate.action.hosts import Hosts
from repro_gate.errors import FetchFailed
from tests.action.test_workflows import served


def test_what_is_served_is_what_is_fetched_also_by_way_of_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(b"capsule", tmp_path) as (url, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        hosts = Hosts((url.split("/")[2],))
        start = url.removesuffix("capsule.zip")
        assert fetch(url, 7, hosts) == fetch(f"{start}to/{url}", 7, hosts) == b"capsule"
        with pytest.raises(FetchFailed, match="is larger than"):
            fetch(url, 6, hosts)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "https://127.0.0.1:PORT/capsule.zip",
            "would be fetched from '127.0.0.1:PORT', and may be only from localhost",
        ),
        ("http://localhost:PORT/capsule.zip", "not of the form https://host/path"),
        ("file:///etc/hostname", "Redirection to url 'file:///etc/hostname' is not allowed"),
        ("https://localhost:1/capsule.zip", "would be fetched from 'localhost:1'"),
    ],
)
def test_a_redirection_leads_only_where_the_address_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    with served(b"capsule", tmp_path) as (url, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        place = url.split("/")[2]
        port = place.partition(":")[2]
        with pytest.raises(FetchFailed) as refused:
            fetch(f"https://{place}/to/{target.replace('PORT', port)}", 100, Hosts((place,)))
    assert said.replace("PORT", port) in str(refused.value)


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    """The negative control of the tests above: it is the certificate that lets them connect."""
    with served(b"capsule", tmp_path) as (url, _), pytest.raises(FetchFailed, match="CERTIFICATE_VERIFY_FAILED"):
        fetch(url, 7, Hosts((url.split("/")[2],)))
