"""The capsule's zip: written byte for byte the same, and each hostile kind refused by name."""

from __future__ import annotations

import errno
import io
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.capsule.archive import DEFAULT_CAPS, Caps, extract, gunzip, name_problem, read_archive, write_archive
from repro_gate.errors import CapsuleRefused, DiskFull, UsageError

REGULAR = (stat.S_IFREG | 0o644) << 16
MEMBERS = {"manifest.json": b"{}\n", "repro.sh": b"#!/bin/sh\n", "plugin/a.py": b"x = 1\n"}


@dataclass(kw_only=True)
class Entry:
    """A member in which every header field can lie. None: the truth."""

    name: bytes
    data: bytes = b"data"
    method: int = zipfile.ZIP_DEFLATED
    flags: int = 0
    attributes: int = REGULAR
    size: int | None = None
    local_size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    local_name: bytes | None = None
    packed: bytes | None = None


def hand_made(*entries: Entry, before: bytes = b"", after: bytes = b"", comment: bytes = b"", count: int = -1) -> bytes:
    """A zip with exactly these headers."""
    body, directory = before, b""
    for entry in entries:
        if entry.packed is not None:
            packed = entry.packed
        elif entry.method == zipfile.ZIP_DEFLATED:
            squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = squeeze.compress(entry.data) + squeeze.flush()
        else:
            packed = entry.data
        size = len(entry.data) if entry.size is None else entry.size
        packed_size = len(packed) if entry.packed_size is None else entry.packed_size
        crc = zlib.crc32(entry.data) if entry.crc is None else entry.crc
        local_name = entry.name if entry.local_name is None else entry.local_name
        local_size = size if entry.local_size is None else entry.local_size
        offset = len(body)
        common = (entry.flags, entry.method, 0, 0x21, crc, packed_size)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 20, *common, local_size, len(local_name), 0) + local_name + packed
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 0x314, 20, *common, size, len(entry.name), 0, 0, 0, 0, entry.attributes, offset
        )
        directory += entry.name
    number = len(entries) if count < 0 else count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, number, number, len(directory), len(body), len(comment))
    return body + directory + end + comment + after


def refused(tmp_path: Path, content: bytes, caps: Caps = DEFAULT_CAPS) -> str:
    path = tmp_path / "capsule.zip"
    path.write_bytes(content)
    with pytest.raises(CapsuleRefused) as refusal:
        read_archive(path, caps)
    return str(refusal.value)


def accepted(tmp_path: Path, content: bytes, caps: Caps = DEFAULT_CAPS) -> dict[str, bytes]:
    path = tmp_path / "capsule.zip"
    path.write_bytes(content)
    return read_archive(path, caps)


# --- writing ---------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_archive(tmp_path / "c.zip", MEMBERS)
    assert read_archive(tmp_path / "c.zip") == MEMBERS
    assert list(tmp_path.iterdir()) == [tmp_path / "c.zip"]


def test_two_writes_give_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    write_archive(tmp_path / "one.zip", MEMBERS)
    write_archive(tmp_path / "two.zip", dict(reversed(MEMBERS.items())))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_other_tools_see_fixed_times_modes_and_sorted_names(tmp_path: Path) -> None:
    write_archive(tmp_path / "c.zip", MEMBERS)
    with zipfile.ZipFile(tmp_path / "c.zip") as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == sorted(MEMBERS)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.filename: info.external_attr >> 16 for info in infos} == {
        "manifest.json": 0o100644,
        "plugin/a.py": 0o100644,
        "repro.sh": 0o100755,
    }


NAMES = st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12), min_size=1, max_size=3).map(
    "/".join
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.binary(max_size=300), min_size=1, max_size=6))
def test_members_come_back_as_they_were_or_are_refused_when_written(tmp_path: Path, members: dict[str, bytes]) -> None:
    path = tmp_path / "c.zip"
    path.unlink(missing_ok=True)
    try:
        write_archive(path, members)
    except CapsuleRefused:
        assert not path.exists()
    else:
        assert read_archive(path) == members


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, "no space")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *_, **__: full())
    with pytest.raises(DiskFull, match=r"capsule-x\.zip"):
        write_archive(tmp_path / "capsule-x.zip", MEMBERS)
    assert list(tmp_path.iterdir()) == []


def test_another_error_of_the_disk_is_not_called_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", broken)
    with pytest.raises(OSError, match="broken"):
        write_archive(tmp_path / "c.zip", MEMBERS)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gone"):
        write_archive(tmp_path / "gone" / "c.zip", MEMBERS)


def test_a_name_that_would_be_refused_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CapsuleRefused, match="climbs"):
        write_archive(tmp_path / "c.zip", {"../evil": b""})
    assert list(tmp_path.iterdir()) == []


# --- reading: the hand-made zip is itself in order ---------------------------------------------


def test_a_hand_made_zip_without_a_lie_is_read(tmp_path: Path) -> None:
    content = hand_made(Entry(name=b"a"), Entry(name="d\u00e9/b".encode(), flags=0x800, method=0, data=b"x" * 99))
    assert accepted(tmp_path, content) == {"a": b"data", "d\u00e9/b": b"x" * 99}


def test_a_zip_by_the_standard_library_is_read(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"1" * 1000)
        archive.writestr("b/c", b"")
    assert accepted(tmp_path, out.getvalue()) == {"a": b"1" * 1000, "b/c": b""}


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("/abs", "an absolute path"),
        ("//server/share", "an absolute path"),
        ("../evil.txt", "climbs"),
        ("a/../b", "climbs"),
        ("a/..", "climbs"),
        ("C:\\x", "a backslash"),
        ("a\\b", "a backslash"),
        ("C:x", "a drive"),
        ("a:stream", "a drive or a stream"),
        ("a\0b", "a control character"),
        ("a\nb", "a control character"),
        ("a\x1b[2J", "a control character"),
        ("a\x7f", "a control character"),
        ("a\u202egnp", "a control character"),
        ("a\u2028b", "a control character"),
        ("dir/", "a directory entry"),
        ("a//b", "an empty or '.' part"),
        ("./a", "an empty or '.' part"),
        ("a/.", "an empty or '.' part"),
        ("a.", "ends in a dot or a space"),
        ("a /b", "ends in a dot or a space"),
        ("nul", "a device name"),
        ("d/COM1.txt", "a device name"),
        ("x" * 300, "too long"),
        ("", "an empty name"),
    ],
)
def test_a_hostile_name_is_refused(tmp_path: Path, name: str, rule: str) -> None:
    message = refused(tmp_path, hand_made(Entry(name=b"ok"), Entry(name=name.encode(), flags=0x800)))
    assert rule in message
    if name:
        assert ascii(name) in message
    assert message.isprintable()


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    assert "not UTF-8" in refused(tmp_path, hand_made(Entry(name=b"a\xff", flags=0x800)))
    assert "not UTF-8" in refused(tmp_path, hand_made(Entry(name="\u00e9".encode(), flags=0)))


def test_the_reader_sees_the_whole_name_where_the_standard_library_stops_at_nul(tmp_path: Path) -> None:
    content = hand_made(Entry(name=b"manifest.json\0.exe"))
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["manifest.json"]
    assert "control character" in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["a", "a"], "a duplicate name"),
        (["a", "A"], "the same name as 'a' but for case"),
        (["stra\u00dfe", "STRASSE"], "but for case"),
        (["\u00e9", "e\u0301"], "but for case"),
        (["a", "a/b"], "a file, as its folder"),
        (["x/y/z", "X/Y"], "a file, as its folder"),
    ],
)
def test_names_that_collide_are_refused(tmp_path: Path, names: list[str], rule: str) -> None:
    entries = [Entry(name=name.encode(), flags=0x800) for name in names]
    assert rule in refused(tmp_path, hand_made(*entries))


@pytest.mark.parametrize(
    "name", ["repro.sh", "plugin/repro_gate_pytest/axes/base.py", "input/caf\u00e9.yaml", "..a/...b"]
)
def test_an_ordinary_name_breaks_no_rule(name: str) -> None:
    assert name_problem(name) == ""


# --- kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "rule"),
    [
        (stat.S_IFLNK | 0o777, "a symbolic link"),
        (stat.S_IFDIR | 0o755, "the mode of a directory"),
        (stat.S_IFIFO | 0o644, "a special file"),
        (stat.S_IFCHR | 0o644, "a special file"),
        (stat.S_IFBLK | 0o644, "a special file"),
        (stat.S_IFSOCK | 0o644, "a special file"),
    ],
)
def test_what_is_not_a_file_is_refused(tmp_path: Path, mode: int, rule: str) -> None:
    message = refused(tmp_path, hand_made(Entry(name=b"link", data=b"/etc/passwd", attributes=mode << 16)))
    assert rule in message
    assert "'link'" in message


def test_a_directory_by_its_dos_attribute_is_refused(tmp_path: Path) -> None:
    assert "a directory" in refused(tmp_path, hand_made(Entry(name=b"d", attributes=0x10)))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_an_encrypted_member_is_refused(tmp_path: Path, flag: int) -> None:
    assert "encryption" in refused(tmp_path, hand_made(Entry(name=b"a", flags=flag)))


@pytest.mark.parametrize("method", [1, 9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 93, 99])
def test_an_unknown_compression_is_refused(tmp_path: Path, method: int) -> None:
    assert "an unknown compression" in refused(tmp_path, hand_made(Entry(name=b"a", method=method)))


def test_sizes_after_the_data_are_refused(tmp_path: Path) -> None:
    assert "flags" in refused(tmp_path, hand_made(Entry(name=b"a", flags=0x8)))


# --- sizes -----------------------------------------------------------------------------------


def test_a_bomb_of_a_thousand_to_one_is_refused_by_its_ratio(tmp_path: Path) -> None:
    content = hand_made(Entry(name=b"bomb", data=bytes(20 << 20)))
    assert len(content) < 21 << 10
    assert "ratio over 100:1" in refused(tmp_path, content)


def test_a_bomb_that_says_it_is_small_is_refused_by_its_ratio(tmp_path: Path) -> None:
    assert "ratio over 100:1" in refused(tmp_path, hand_made(Entry(name=b"bomb", data=bytes(20 << 20), size=10)))


def test_a_small_and_regular_member_may_have_any_ratio(tmp_path: Path) -> None:
    assert accepted(tmp_path, hand_made(Entry(name=b"a", data=bytes(60 << 10)))) == {"a": bytes(60 << 10)}


def test_a_member_over_its_cap_is_refused_by_its_header_and_by_its_bytes(tmp_path: Path) -> None:
    caps = Caps(member_bytes=1000)
    data = bytes(range(256)) * 4
    assert "1024 bytes (at most 1000)" in refused(tmp_path, hand_made(Entry(name=b"a", data=data)), caps)
    lying = hand_made(Entry(name=b"a", data=data, size=5))
    assert "more than 1000 bytes" in refused(tmp_path, lying, caps)
    stored = hand_made(Entry(name=b"a", data=data, size=5, method=0))
    assert "more than 1000 bytes" in refused(tmp_path, stored, caps)
    assert accepted(tmp_path, hand_made(Entry(name=b"a", data=data)), Caps(member_bytes=1024)) == {"a": data}


def test_members_that_are_too_much_together_are_refused(tmp_path: Path) -> None:
    entries = [Entry(name=b"m%d" % number, data=bytes(range(200))) for number in range(6)]
    assert "in all" in refused(tmp_path, hand_made(*entries), Caps(total_bytes=1000))
    assert len(accepted(tmp_path, hand_made(*entries), Caps(total_bytes=1200))) == 6


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    entries = [Entry(name=b"m%d" % number) for number in range(6)]
    assert "6 members (at most 5)" in refused(tmp_path, hand_made(*entries), Caps(members=5))
    assert len(accepted(tmp_path, hand_made(*entries), Caps(members=6))) == 6


@pytest.mark.parametrize("size", [0, 3, 5, 0xFFFFFFFE])
def test_a_size_that_lies_is_refused(tmp_path: Path, size: int) -> None:
    message = refused(tmp_path, hand_made(Entry(name=b"a", size=size)))
    assert "another size" in message or "at most" in message


def test_two_headers_that_differ_are_refused(tmp_path: Path) -> None:
    assert "two headers that differ" in refused(tmp_path, hand_made(Entry(name=b"a", local_size=3)))
    assert "two headers that differ" in refused(tmp_path, hand_made(Entry(name=b"a", local_name=b"b")))


@pytest.mark.parametrize("packed_size", [2, 200, 0xFFFFFFFF])
def test_a_packed_size_that_lies_is_refused(tmp_path: Path, packed_size: int) -> None:
    assert "overlap" in refused(tmp_path, hand_made(Entry(name=b"a", packed_size=packed_size), Entry(name=b"b")))


def test_damaged_data_is_refused(tmp_path: Path) -> None:
    assert "checksum" in refused(tmp_path, hand_made(Entry(name=b"a", crc=1)))
    assert "damaged data" in refused(tmp_path, hand_made(Entry(name=b"a", packed=b"\xff" * 10)))


def test_bytes_after_a_member_s_stream_are_refused(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeeze.compress(b"data") + squeeze.flush()
    assert "another size" in refused(tmp_path, hand_made(Entry(name=b"a", packed=packed + b"hidden")))
    assert "another size" in refused(tmp_path, hand_made(Entry(name=b"a", packed=packed[:-1])))


# --- the file --------------------------------------------------------------------------------


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    content = bytearray(hand_made(Entry(name=b"a", data=b"x" * 50, method=0), Entry(name=b"b", data=b"y", method=0)))
    directory = content.find(b"PK\1\2", content.find(b"PK\1\2") + 1)
    struct.pack_into("<L", content, directory + 42, 0)
    assert "overlap" in refused(tmp_path, bytes(content))


def test_junk_before_between_and_after_is_refused(tmp_path: Path) -> None:
    whole = hand_made(Entry(name=b"a"))
    assert "bytes before its start" in refused(tmp_path, b"#!/bin/sh\n" + whole)
    assert "belong to no member" in refused(tmp_path, hand_made(Entry(name=b"a"), before=b"#!/bin/sh\n"))
    assert "bytes after its end" in refused(tmp_path, whole + b"junk")
    assert "bytes after its end" in refused(tmp_path, hand_made(Entry(name=b"a"), comment=b"hello"))
    assert "bytes before its start" in refused(tmp_path, whole + whole)
    assert "truncated" in refused(tmp_path, whole[:-2] + b"\x05\x00")
    last = hand_made(Entry(name=b"a", packed=b"\x03\x00junk", packed_size=2, data=b""))
    assert "belong to no member" in refused(tmp_path, last)
    between = hand_made(Entry(name=b"a", packed=b"\x03\x00junk", packed_size=2, data=b""), Entry(name=b"b"))
    assert "belong to no member" in refused(tmp_path, between)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = hand_made(Entry(name=b"a"), Entry(name=b"b", data=b"more"))
    for length in range(len(whole)):
        refused(tmp_path, whole[:length])
    assert "truncated" in refused(tmp_path, whole[:-1])
    assert "truncated" in refused(tmp_path, whole[:50])


def test_no_flipped_bit_goes_unnoticed_in_names_or_contents(tmp_path: Path) -> None:
    members = {"a": b"data", "b": b"more data"}
    write_archive(tmp_path / "c.zip", members)
    whole = (tmp_path / "c.zip").read_bytes()
    for position in range(len(whole)):
        content = bytearray(whole)
        content[position] ^= 0x04
        (tmp_path / "d.zip").write_bytes(content)
        try:
            found = read_archive(tmp_path / "d.zip")
        except CapsuleRefused:
            continue
        assert list(found.values()) == list(members.values())


def test_the_count_in_the_last_record_must_be_true(tmp_path: Path) -> None:
    assert "damaged directory" in refused(tmp_path, hand_made(Entry(name=b"a"), Entry(name=b"b"), count=1))
    assert "damaged directory" in refused(tmp_path, hand_made(Entry(name=b"a"), count=2))
    assert "no members" in refused(tmp_path, hand_made())


@pytest.mark.parametrize("content", [b"", b"PK", b"hello", b"\x1f\x8b" + b"x" * 100, b"PK\3\4"])
def test_what_is_not_a_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    message = refused(tmp_path, content)
    assert "not a zip" in message or "truncated" in message


def test_what_is_not_a_file_at_all_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.zip"):
        with pytest.raises(CapsuleRefused, match="is not a file"):
            read_archive(path)


def test_a_file_over_all_caps_is_refused_without_unpacking(tmp_path: Path) -> None:
    content = hand_made(Entry(name=b"a", data=bytes(2 << 20), method=0))
    assert "more than" in refused(tmp_path, content, Caps(total_bytes=1000))


# --- extracting ------------------------------------------------------------------------------


def test_members_are_extracted_and_only_the_entrypoint_is_executable(tmp_path: Path) -> None:
    extract(MEMBERS, tmp_path)
    assert {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == MEMBERS
    assert stat.S_IMODE((tmp_path / "repro.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "manifest.json").stat().st_mode) == 0o644


def test_nothing_is_extracted_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    with pytest.raises(UsageError, match="empty directory"):
        extract(MEMBERS, tmp_path)
    with pytest.raises(UsageError, match="empty directory"):
        extract(MEMBERS, tmp_path / "gone")
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_names_are_checked_again_before_extracting(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(CapsuleRefused, match="climbs"):
        extract({"ok": b"", "../evil": b""}, target)
    assert list(target.iterdir()) == []


def test_a_full_disk_while_extracting_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, "chmod", full)
    with pytest.raises(DiskFull):
        extract(MEMBERS, tmp_path)


# --- gzip ------------------------------------------------------------------------------------


def gz(data: bytes) -> bytes:
    return zlib.compress(data, wbits=31)


@given(st.binary(max_size=100_000))
def test_gzip_comes_back(data: bytes) -> None:
    assert gunzip("x.gz", gz(data)) == data


def test_a_gzip_that_is_hostile_or_damaged_is_refused() -> None:
    for packed, rule in [
        (gz(bytes(10 << 20)), "more than 1000000 bytes"),
        (gz(b"abc")[:-1], "truncated"),
        (gz(b"abc") + b"junk", "bytes after it"),
        (gz(b"abc") + gz(b"def"), "bytes after it"),
        (b"abc", "damaged"),
        (b"", "truncated"),
    ]:
        with pytest.raises(CapsuleRefused, match=rule):
            gunzip("x.gz", packed, 1_000_000)
    assert gunzip("x.gz", gz(bytes(1000)), 1000) == bytes(1000)
