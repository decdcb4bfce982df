"""The capsule's container: a zip that is written byte for byte the same and read with suspicion.

The reader does not use ``zipfile``: that module cuts names at NUL, trusts the central directory and
accepts junk around and between members. Here the members must tile the file from its first byte to
the central directory, local and central headers must agree, and sizes are counted, not believed.
"""

from __future__ import annotations

import contextlib
import errno
import re
import secrets
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from repro_gate.errors import CapsuleRefused, DiskFull, UsageError

ENTRYPOINT = "repro.sh"

_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEVEL = 6
_CHUNK = 1 << 16
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_UTF8_NAME = 0x0800
_LEVEL_HINTS = 0x0006
_DOS_DIRECTORY = 0x10
_LONGEST_NAME = 240
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Caps:
    """What a reader accepts at most. ``ratio`` applies to members that unpack to over ``ratio_floor`` bytes."""

    members: int = 512
    member_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    ratio: int = 100
    ratio_floor: int = 64 << 10


DEFAULT_CAPS = Caps()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """One row of the central directory."""

    raw_name: bytes
    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    attributes: int
    offset: int


# Writing


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    """Write ``members`` as a zip whose bytes depend on nothing else, whole or not at all.

    Raises DiskFull naming the path, and CapsuleRefused for a name that the reader would refuse.
    """
    _check_names(list(members), str(path))
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with _full_disk_named(path):
            try:
                with partial.open("xb") as out:
                    _write_members(out, members)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
    except FileNotFoundError as error:
        raise UsageError(f"the folder {path.parent} does not exist", next_step="Create it first.") from error


def _write_members(out: IO[bytes], members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | _mode(name)) << 16
            archive.writestr(info, members[name], compresslevel=_LEVEL)


def extract(members: Mapping[str, bytes], directory: Path) -> None:
    """Write members below an existing, empty directory; only repro.sh is made executable.

    Names are checked again, whatever they come from.
    """
    _check_names(list(members), str(directory))
    if not directory.is_dir() or any(directory.iterdir()):
        raise UsageError(f"{directory} is not an existing, empty directory", next_step="Name a new, empty directory.")
    with _full_disk_named(directory):
        for name in sorted(members):
            target = directory.joinpath(*name.split("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                out.write(members[name])
            target.chmod(_mode(name))


def _mode(name: str) -> int:
    return 0o755 if name == ENTRYPOINT else 0o644


@contextlib.contextmanager
def _full_disk_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left to write {path}") from error
        raise


# Names


def name_problem(name: str) -> str:
    """Which rule a member's name breaks, or an empty string."""
    parts = name.split("/")
    rules = (
        (not name, "an empty name"),
        (len(name) > _LONGEST_NAME, "a name that is too long"),
        (any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name), "a control character"),
        ("\\" in name, "a backslash"),
        (name.startswith("/"), "an absolute path"),
        (":" in name, "a drive or a stream"),
        (name.endswith("/"), "a directory entry"),
        (".." in parts, "a path that climbs with '..'"),
        ("" in parts or "." in parts, "an empty or '.' part in its path"),
        (any(p.endswith((".", " ")) or p.startswith(" ") for p in parts), "a part that ends in a dot or a space"),
        (any(_DEVICE.fullmatch(p) for p in parts), "a device name"),
    )
    return next((text for broken, text in rules if broken), "")


def _check_names(names: list[str], source: str) -> None:
    """Refuse names that break a rule alone or together (same name, same but for case, file and folder)."""
    seen: dict[str, str] = {}
    for name in names:
        if problem := name_problem(name):
            raise _refusal(source, name, problem)
        folded = _fold(name)
        if folded in seen:
            rule = "a duplicate name" if seen[folded] == name else f"the same name as {seen[folded]!r} but for case"
            raise _refusal(source, name, rule)
        seen[folded] = name
    for folded, name in seen.items():
        cut = folded.rfind("/")
        while cut != -1:
            if folded[:cut] in seen:
                raise _refusal(source, name, f"{seen[folded[:cut]]!r}, a file, as its folder")
            cut = folded.rfind("/", 0, cut)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


# Reading


def read_archive(path: Path, caps: Caps = DEFAULT_CAPS) -> dict[str, bytes]:
    """All members by name, or CapsuleRefused naming the member and the rule it breaks."""
    data = _read_file(path, caps)
    source = path.name
    directory_start, count = _find_directory(data, source)
    if count > caps.members:
        raise _refusal(source, "", f"{count} members (at most {caps.members})")
    entries = _read_directory(data, directory_start, count, source)
    _check_names([entry.name for entry in entries], source)
    for entry in entries:
        _check_entry(entry, source, caps)
    starts = _check_layout(data, entries, directory_start, source)
    members: dict[str, bytes] = {}
    left = caps.total_bytes
    for entry in sorted(entries, key=lambda e: e.name):
        start = starts[entry.name]
        members[entry.name] = _unpack(entry, data[start : start + entry.packed], left, source, caps)
        left -= len(members[entry.name])
    return members


def _refusal(source: str, member: str, rule: str) -> CapsuleRefused:
    """The one wording of a refusal; names come from the file, hence ``ascii``."""
    if not member:
        return CapsuleRefused(f"{source} is refused: it has {rule}")
    return CapsuleRefused(f"{source} is refused: member {member!a} has {rule}")


def _read_file(path: Path, caps: Caps) -> bytes:
    try:
        if not path.is_file():
            raise CapsuleRefused(f"{path} is not a file", next_step="Give the path of a capsule-*.zip file.")
        largest = caps.total_bytes + (1 << 20)
        with path.open("rb") as source:
            data = source.read(largest + 1)
    except (OSError, ValueError) as error:
        raise CapsuleRefused(f"{path} cannot be read: {error}", next_step="Check the path and its mode.") from error
    if len(data) > largest:
        raise _refusal(path.name, "", f"more than {largest} bytes")
    return data


def _find_directory(data: bytes, source: str) -> tuple[int, int]:
    """Where the central directory starts, and how many entries it has; it must end the file."""
    at = len(data) - _END.size
    if at < 0 or data[at : at + 4] != b"PK\x05\x06":
        end = data.rfind(b"PK\x05\x06")
        if 0 <= end < at:
            raise _refusal(source, "", "bytes after its end (a comment or junk)")
        if end > at or data[:4] == b"PK\x03\x04":
            raise CapsuleRefused(f"{source} is refused: it is truncated")
        raise CapsuleRefused(f"{source} is refused: it is not a zip file")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, at)
    if comment:
        raise CapsuleRefused(f"{source} is refused: it is truncated")
    if disk or first_disk or here != count or start + size != at:
        raise _refusal(source, "", "bytes before its start, or a directory that lies about its place")
    if not count:
        raise _refusal(source, "", "no members")
    return start, count


def _read_directory(data: bytes, start: int, count: int, source: str) -> list[_Entry]:
    entries = []
    at, end = start, len(data) - _END.size
    for _ in range(count):
        if at + _CENTRAL.size > end or data[at : at + 4] != b"PK\x01\x02":
            raise _refusal(source, "", "a damaged directory")
        fields = _CENTRAL.unpack_from(data, at)
        flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
        name_length, extra, comment = fields[10:13]
        raw_name = data[at + _CENTRAL.size : at + _CENTRAL.size + name_length]
        name = _decode_name(raw_name, flags, source)
        entry = _Entry(
            raw_name=raw_name,
            name=name,
            flags=flags,
            method=method,
            crc=crc,
            packed=packed,
            size=size,
            attributes=fields[15],
            offset=fields[16],
        )
        entries.append(entry)
        at += _CENTRAL.size + name_length + extra + comment
    if at != end:
        raise _refusal(source, "", "a damaged directory")
    return entries


def _decode_name(raw: bytes, flags: int, source: str) -> str:
    try:
        return raw.decode("utf-8" if flags & _UTF8_NAME else "ascii")
    except UnicodeDecodeError:
        raise _refusal(source, raw.decode("latin-1"), "a name that is not UTF-8") from None


def _check_entry(entry: _Entry, source: str, caps: Caps) -> None:
    """Refuse a member for what its headers say, before a byte of it is unpacked."""
    kind = stat.S_IFMT(entry.attributes >> 16)
    rules = (
        (entry.flags & _ENCRYPTED, "encryption"),
        (entry.flags & ~(_UTF8_NAME | _LEVEL_HINTS), "flags that capsules do not use"),
        (entry.method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), "an unknown compression"),
        (kind == stat.S_IFLNK, "the mode of a symbolic link"),
        (kind == stat.S_IFDIR or entry.attributes & _DOS_DIRECTORY, "the mode of a directory"),
        (kind not in (0, stat.S_IFREG), "the mode of a special file"),
        (entry.size > caps.member_bytes, f"{entry.size} bytes (at most {caps.member_bytes})"),
    )
    for broken, rule in rules:
        if broken:
            raise _refusal(source, entry.name, rule)


def _check_layout(data: bytes, entries: list[_Entry], end: int, source: str) -> dict[str, int]:
    """Where each member's packed bytes start; members must follow one another without gap or overlap."""
    starts: dict[str, int] = {}
    at = 0
    for entry in sorted(entries, key=lambda e: e.offset):
        if entry.offset != at or at + _LOCAL.size > end or data[at : at + 4] != b"PK\x03\x04":
            raise _refusal(source, entry.name, "bytes around it that belong to no member, or an overlap")
        _, _, flags, method, _, _, crc, packed, size, name_length, extra = _LOCAL.unpack_from(data, at)
        name_end = at + _LOCAL.size + name_length
        same = (flags, method, crc, packed, size) == (entry.flags, entry.method, entry.crc, entry.packed, entry.size)
        if not same or data[at + _LOCAL.size : name_end] != entry.raw_name:
            raise _refusal(source, entry.name, "two headers that differ")
        starts[entry.name] = name_end + extra
        at = starts[entry.name] + entry.packed
    if at != end:
        raise _refusal(source, entries[-1].name, "bytes around it that belong to no member, or an overlap")
    return starts


def _unpack(entry: _Entry, packed: bytes, left: int, source: str, caps: Caps) -> bytes:
    """The member's bytes, counted while they come: no size that the file claims is believed."""
    limits = [
        (caps.member_bytes, f"more than {caps.member_bytes} bytes"),
        (left, f"the archive over {caps.total_bytes} bytes in all"),
        (max(caps.ratio_floor, caps.ratio * len(packed)), f"a compression ratio over {caps.ratio}:1"),
    ]
    limit, rule = min(limits, key=lambda pair: pair[0])
    if entry.method == zipfile.ZIP_STORED:
        content, whole = packed, True
    else:
        try:
            content, whole = _inflate(packed, limit, -zlib.MAX_WBITS)
        except zlib.error:
            raise _refusal(source, entry.name, "damaged data") from None
    if len(content) > limit:
        raise _refusal(source, entry.name, rule)
    if not whole or len(content) != entry.size:
        raise _refusal(source, entry.name, "another size than its header says")
    if zlib.crc32(content) != entry.crc:
        raise _refusal(source, entry.name, "damaged data (checksum)")
    return content


def _inflate(packed: bytes, limit: int, window: int) -> tuple[bytes, bool]:
    """At most ``limit`` + 1 unpacked bytes, and whether the stream ended just where the input does."""
    stream = zlib.decompressobj(window)
    out: list[bytes] = []
    room = limit + 1
    rest = memoryview(packed)
    while room and not stream.eof:
        piece = stream.decompress(rest[:_CHUNK], min(room, _CHUNK))
        used = min(len(rest), _CHUNK) - len(stream.unconsumed_tail) - len(stream.unused_data)
        if not piece and not used:
            break
        rest = rest[used:]
        out.append(piece)
        room -= len(piece)
    return b"".join(out), stream.eof and not rest


def gunzip(name: str, packed: bytes, limit: int = DEFAULT_CAPS.member_bytes) -> bytes:
    """The one gzip stream in ``packed``, or CapsuleRefused naming the member; ``limit`` caps its size."""
    try:
        content, whole = _inflate(packed, limit, zlib.MAX_WBITS | 16)
    except zlib.error:
        raise CapsuleRefused(f"member {name!a} has damaged gzip data") from None
    if len(content) > limit:
        raise CapsuleRefused(f"member {name!a} unpacks to more than {limit} bytes")
    if not whole:
        raise CapsuleRefused(f"member {name!a} has a truncated gzip stream or bytes after it")
    return content
