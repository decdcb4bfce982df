"""The parts of the docker sandbox that need no daemon: what is mounted, who owns it, what is refused."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from repro_gate.errors import SandboxUnavailable
from repro_gate.sandbox import Interpreter, Place
from repro_gate.sandbox.docker import connect, files
from repro_gate.sandbox.docker.base import Content, write
from repro_gate.sandbox.docker.images import seccomp
from repro_gate.sandbox.docker.sweep import is_gone, labels
from repro_gate.sandbox.paths import outermost, view_of, with_tester


def place_in(base: Path, original: Path) -> Place:
    return Place(
        base=base, tree=base / "tree", home=base / "home", tmp=base / "tmp", wire=base / "wire", original=original
    )


def interpreter(*directories: Path | str) -> Interpreter:
    return Interpreter(executable="/x/python", version="3.12.1", directories=tuple(map(str, directories)), user_base="")


# --- mounts ----------------------------------------------------------------------------------


def test_the_place_is_writable_and_the_interpreter_is_not(tmp_path: Path) -> None:
    venv, project = tmp_path / "venv", tmp_path / "proj"
    (venv / "bin").mkdir(parents=True)
    place = place_in(tmp_path / "w", project)
    found = files.mounts(place, view_of(place), interpreter(venv, venv / "bin", "/usr", "/usr/bin"), [("/p", "/q")])
    assert {mount.target: (mount.source, mount.writable) for mount in found} == {
        str(project): (str(place.tree), True),
        "/run/repro-gate/home": (str(place.home), True),
        "/run/repro-gate/wire": (str(place.wire), True),
        "/tmp": (str(place.tmp), True),
        str(venv): (str(venv), False),
        "/q": ("/p", False),
    }


def test_an_environment_inside_the_project_lies_over_the_copy(tmp_path: Path) -> None:
    project = tmp_path / "proj"
    venv = project / ".venv"
    (venv / "lib").mkdir(parents=True)
    (project / "src").mkdir()
    (venv / "pyvenv.cfg").touch()
    place = place_in(tmp_path / "w", project)
    found = files.mounts(place, view_of(place), interpreter(project, project / "src", venv, venv / "lib"), [])
    assert [mount.target for mount in found if not mount.writable] == [str(venv)]


def test_each_place_inside_is_mounted_once_and_the_first_counts(tmp_path: Path) -> None:
    place = place_in(tmp_path / "w", tmp_path / "proj")
    readable = [("/etc/ca.crt", "/etc/ca.crt"), ("/etc/ca.crt", "/etc/ca.crt"), ("/opt/ca.crt", "/etc/ca.crt")]
    found = files.mounts(place, view_of(place), interpreter(), readable)
    assert [mount.source for mount in found if mount.target == "/etc/ca.crt"] == ["/etc/ca.crt"]
    assert len({mount.target for mount in found}) == len(found)


def test_mount_points_are_made_in_the_place_so_that_they_can_be_removed(tmp_path: Path) -> None:
    place = place_in(tmp_path / "w", tmp_path / "proj")
    for directory in (place.tree, place.home, place.tmp, place.wire):
        directory.mkdir(parents=True)
    wanted = files.mounts(place, view_of(place), interpreter(), [])
    wanted.append(files.Mount(source="/x", target="/tmp/deep/venv", writable=False))
    files.prepare(place, wanted, (os.geteuid(), os.getegid()))
    assert (place.tmp / "deep/venv").is_dir()
    if tmp_path.is_relative_to("/tmp"):
        assert (place.tmp / tmp_path.relative_to("/tmp") / "proj").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_is_shared_by_a_hard_link_keeps_its_owner(tmp_path: Path) -> None:
    place = place_in(tmp_path / "w", tmp_path / "proj")
    for directory in (place.tree, place.home, place.tmp, place.wire):
        directory.mkdir(parents=True)
    shared = tmp_path / "object"
    shared.write_text("git's")
    (place.tree / "object").hardlink_to(shared)
    (place.tree / "own").write_text("ours")
    files.prepare(place, [], (1234, 1234))
    assert (place.tree / "own").stat().st_uid == place.wire.stat().st_uid == 1234
    assert shared.stat().st_uid == 0


def test_users_of_an_image_keep_their_entries_and_ours_is_added() -> None:
    stream = io.BytesIO()
    table = b"root:x:0:0::/root:/bin/sh\npostgres:x:70:70::/:/bin/sh\n"
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("passwd")
        entry.size = len(table)
        archive.addfile(entry, io.BytesIO(table))
    users = files.users_of(stream.getvalue(), 1000, 1000).splitlines()
    assert users[:2] == table.decode().splitlines()
    assert users[2].startswith("tester:x:1000:1000:")
    assert files.users_of(b"", 70, 70).splitlines()[1].startswith("tester:x:70:70:")
    assert with_tester("a:x:1000:1:::\n", 1000, 1000) == "a:x:1000:1:::\n"


def test_only_the_outermost_directories_count() -> None:
    assert outermost(["/a/b", "/a", "/ab", "/c/d", "/c/d"]) == ["/a", "/ab", "/c/d"]


# --- the base image --------------------------------------------------------------------------


def archive_of(content: Content) -> bytes:
    stream = io.BytesIO()
    write(content, stream)
    return stream.getvalue()


def test_an_archive_and_its_key_follow_the_content_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("same")
    os.utime(tmp_path / "two", (1, 1))
    one, two = (
        Content(texts={"etc/x": b"x"}, files={"bin/p": tmp_path / name}, links={"bin/q": "/bin/p"})
        for name in ("one", "two")
    )
    assert archive_of(one) == archive_of(two)
    assert one.key() == two.key()
    (tmp_path / "two").chmod(0o755)
    assert one.key() != two.key()
    with tarfile.open(fileobj=io.BytesIO(archive_of(two))) as members:
        found = {member.name: (member.mode, member.uid, member.mtime) for member in members}
    assert found["bin/p"] == (0o755, 0, 0)
    assert found["tmp"][0] == 0o1777
    assert {"bin", "etc", "etc/x", "bin/q", "proc", "dev"} <= set(found)


# --- system calls ----------------------------------------------------------------------------

REFUSED = (
    "mount umount2 unshare setns pivot_root bpf keyctl add_key init_module kexec_load reboot io_uring_setup userfaultfd"
)
NEEDED = "read write openat mmap clone execve futex epoll_wait connect getrandom rseq faccessat2 close_range wait4"


def allowed_calls() -> dict[str, list[object]]:
    profile = json.loads(seccomp())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    found: dict[str, list[object]] = {}
    for rule in profile["syscalls"]:
        if rule["action"] == "SCMP_ACT_ALLOW":
            for name in rule["names"]:
                found.setdefault(name, []).append(
                    [(arg["index"], arg["op"], arg["value"]) for arg in rule.get("args", [])]
                )
    return found


def test_what_is_not_named_is_refused_and_what_programs_need_is_not() -> None:
    assert set(REFUSED.split()) & set(allowed_calls()) == set()
    assert set(NEEDED.split()) - set(allowed_calls()) == set()


def test_sockets_are_made_of_four_families_only() -> None:
    families = {value for rule in allowed_calls()["socket"] for _, op, value in rule if op == "SCMP_CMP_EQ"}  # type: ignore[attr-defined]
    assert families == {1, 2, 10, 16}
    assert len(allowed_calls()["socket"]) == 4
    assert "socketcall" not in allowed_calls()


# --- the engine, and whose a container is ------------------------------------------------------


def test_each_address_that_was_tried_is_told(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        connect({"DOCKER_HOST": f"unix://{tmp_path}/d.sock", "XDG_RUNTIME_DIR": str(tmp_path)}, ("docker", "podman"))
    assert f"unix://{tmp_path}/d.sock: not there" in str(refused.value)
    assert f"unix://{tmp_path}/podman/podman.sock: not there" in str(refused.value)
    assert "/var/run/docker.sock" not in str(refused.value)


def test_a_process_owns_its_containers_until_it_ends() -> None:
    mine = labels("r")["repro-gate.owner"]
    assert not is_gone(mine)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    pid, _, rest = mine.partition(":")
    assert is_gone(f"{child}:{rest}")
    started, _, boot = rest.partition(":")
    assert is_gone(f"{pid}:{int(started) + 1}:{boot}"), "another process has its id now"
    assert not is_gone(f"{child}:{started}:another-boot"), "ids of another machine mean nothing here"
    assert not is_gone("")
