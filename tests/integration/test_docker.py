"""The docker sandbox: what cannot get out, what still works, what its end leaves behind."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repro_gate.errors import ImageMissing, SandboxLost, SandboxUnavailable
from repro_gate.model import Mode
from repro_gate.sandbox import Interpreter, Place, docker, probe
from repro_gate.sandbox.docker.sweep import LABEL
from tests.conftest import MakeDocker, MakeProject, TestLab, eventually_none, outcomes

PLAIN = ("-p", "no:randomly")
SYSTEM_PYTHON = "/usr/bin/python3"

WAYS_OUT = """\
    import _socket, ctypes, errno, socket, subprocess, sys
    import pytest

    ELSEWHERE = "192.0.2.1"

    def test_tcp():
        with pytest.raises(OSError, match="unreachable"):
            socket.create_connection((ELSEWHERE, 80), 5)

    def test_udp():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, pytest.raises(OSError, match="unreachable"):
            s.sendto(b"x", (ELSEWHERE, 53))

    def test_dns():
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo("example.org", 443)

    def test_ipv6():
        with socket.socket(socket.AF_INET6) as s, pytest.raises(OSError, match="unreachable"):
            s.connect(("2001:db8::1", 80))

    def test_the_raw_module():
        s = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        with pytest.raises(OSError, match="unreachable"):
            s.connect((ELSEWHERE, 80))
        s.close()

    def test_ctypes():
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.socket(2, 1, 0)
        address = (2).to_bytes(2, "little") + (80).to_bytes(2, "big") + bytes(map(int, ELSEWHERE.split("."))) + bytes(8)
        assert libc.connect(fd, address, 16) == -1
        assert ctypes.get_errno() == errno.ENETUNREACH

    def test_a_child():
        program = f"import socket; socket.create_connection(({ELSEWHERE!r}, 80), 5)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "unreachable" in done.stderr, done

    @pytest.mark.parametrize("family", [40, 38, 17], ids=["AF_VSOCK", "AF_ALG", "AF_PACKET"])
    def test_families(family):
        with pytest.raises(OSError) as refused:
            socket.socket(family, socket.SOCK_STREAM)
        assert refused.value.errno == errno.EAFNOSUPPORT
"""

STILL_WORKS = """\
    import asyncio, os, pathlib, socket, tempfile, threading
    import pytest

    @pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
    def test_loopback(family, host):
        with socket.create_server((host, 0), family=family) as server:
            with socket.create_connection(server.getsockname()[:2], 5):
                pass

    def test_a_name_for_it():
        assert socket.gethostbyname("localhost") == "127.0.0.1"

    def test_unix_sockets(tmp_path):
        path = os.path.join(tempfile.mkdtemp(), "s")
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(path)
            server.listen()
            client.connect(path)

    def test_asyncio():
        async def both_ends():
            async def echo(reader, writer):
                writer.write(await reader.read(3))
                writer.close()
            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"abc")
            answer = await reader.read()
            writer.close()
            server.close()
            child = await asyncio.create_subprocess_exec("sh", "-c", "exit 7")
            return answer, await child.wait()
        assert asyncio.run(both_ends()) == (b"abc", 7)

    def test_threads_and_shared_memory():
        from multiprocessing import shared_memory
        memory = shared_memory.SharedMemory(create=True, size=16)
        thread = threading.Thread(target=lambda: memory.buf.__setitem__(0, 1))
        thread.start()
        thread.join()
        assert memory.buf[0] == 1
        memory.close()
        memory.unlink()

    def test_writing_where_tests_write():
        for path in (pathlib.Path.home(), pathlib.Path(os.environ["TMPDIR"]), pathlib.Path(), pathlib.Path("/dev/shm")):
            (path / "mine").write_text("x")

    def test_zones():
        import time
        os.environ["TZ"] = "Asia/Kolkata"
        time.tzset()
        assert time.timezone == -19800
"""

CONFINED = """\
    import getpass, os, pathlib, sys
    import pytest

    def test_not_root_without_any_capability():
        status = pathlib.Path("/proc/self/status").read_text()
        assert os.getuid() != 0
        assert "CapEff:\\t0000000000000000" in status
        assert "CapBnd:\\t0000000000000000" in status
        assert "NoNewPrivs:\\t1" in status
        assert "Seccomp:\\t2" in status

    def test_the_user_has_a_name():
        os.environ.pop("USER", None), os.environ.pop("LOGNAME", None)
        assert getpass.getuser()

    def test_the_root_is_read_only():
        for name in ("/x", "/usr/x", "/etc/x", sys.prefix + "/x", sys.base_prefix + "/x"):
            with pytest.raises(OSError):
                open(name, "w")

    def test_no_engine_in_reach():
        for name in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
            assert not os.path.exists(name)

    def test_few_processes_are_seen():
        assert len([name for name in os.listdir("/proc") if name.isdigit()]) < 10

    def test_this_machine_is_not_there():
        assert not os.path.exists(OUTSIDE)

    def test_secrets_of_the_caller_are_not_there():
        here = b"".join(p.read_bytes() for p in pathlib.Path("/proc").glob("[0-9]*/environ") if os.access(p, os.R_OK))
        assert b"hunter2" not in here

    def test_no_new_namespace():
        import ctypes
        assert ctypes.CDLL(None).unshare(0x10000000) == -1
"""


@pytest.mark.parametrize("tests", [WAYS_OUT, STILL_WORKS], ids=["ways out", "what works"])
def test_nothing_gets_out_and_everything_inside_works(
    project: MakeProject, docker_sandbox: MakeDocker, labs: Callable[..., TestLab], tests: str
) -> None:
    one = labs(docker_sandbox(), project({"test_it.py": tests}), *PLAIN)
    result = one.run(Mode.FRESH)
    assert [(run.id, run.output, run.failure) for run in result.runs if run.outcome != "passed"] == []
    assert len(result.runs) > 6


def test_a_container_is_confined(
    project: MakeProject,
    docker_sandbox: MakeDocker,
    labs: Callable[..., TestLab],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "hunter2")
    outside = tmp_path / "outside"
    outside.write_text("secret")
    root = project({"test_it.py": CONFINED.replace("OUTSIDE", repr(str(outside)))})
    result = labs(docker_sandbox(), root, *PLAIN).run(Mode.FRESH)
    assert [(run.id, run.output, run.failure) for run in result.runs if run.outcome != "passed"] == []
    assert not (root / "mine").exists()


def test_the_kernel_limits_processes_and_memory(docker_sandbox: MakeDocker) -> None:
    forks = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(30)
        made += 1
except BlockingIOError:
    print(made)
"""
    sandbox = docker_sandbox(pids=32)
    status, out, err = sandbox.ask(["python3", "-c", forks])
    assert status == 0, err
    assert 5 < int(out) < 32
    sandbox = docker_sandbox(memory_bytes=64 * 2**20)
    status, out, _ = sandbox.ask(["python3", "-c", "print(len(b'x' * 2**24), flush=True); b'x' * 2**28"])
    assert (sandbox.exit_status(status), out) == (-9, f"{2**24}\n")


def test_an_end_for_want_of_memory_is_told_from_a_kill(
    engine: docker.Engine, project: MakeProject, docker_sandbox: MakeDocker, labs: Callable[..., TestLab]
) -> None:
    tests = "def test_large(): b'x' * 2**30\ndef test_killed():\n    import os; os.kill(os.getpid(), 9)\n"
    one = labs(docker_sandbox(memory_bytes=192 * 2**20), project({"test_it.py": tests}), *PLAIN)
    large, killed = one.run(Mode.FRESH).runs
    assert (large.outcome, killed.outcome) == ("crashed", "crashed")
    assert large.failure is not None
    assert killed.failure is not None
    assert "memory" in large.failure.message or engine.kind == "podman", "podman does not tell"
    assert "memory" not in killed.failure.message


SLOW = "import time\ndef test_one(): pass\ndef test_slow(): time.sleep(0.1)\ndef test_last(): pass\n"


def ids(engine: docker.Engine, sandbox: docker.Docker) -> list[str]:
    client = engine.client()
    with contextlib.closing(client):
        return [str(each["Id"]) for each in client.containers(all=True, filters={"label": f"{LABEL}={sandbox.run}"})]


def place_at(base: Path) -> Place:
    place = Place(
        base=base, tree=base / "tree", home=base / "home", tmp=base / "tmp", wire=base / "wire", original=base / "proj"
    )
    for directory in (place.tree, place.home, place.tmp, place.wire):
        directory.mkdir(parents=True)
    return place


def begin(sandbox: docker.Docker, base: Path, interpreter: Interpreter, program: str) -> docker.Container:
    return sandbox.start(
        place_at(base),
        interpreter,
        [interpreter.executable, "-c", program],
        env={},
        umask=0o077,
        subdirectory="",
        readable=(),
        hostname=None,
        network=False,
    )


def test_ending_a_container_removes_it_whatever_it_does(
    engine: docker.Engine, docker_sandbox: MakeDocker, interpreter: Interpreter, tmp_path: Path
) -> None:
    sandbox = docker_sandbox()
    stubborn = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
mask = os.umask(0)
open("/tmp/out", "w").write(oct(mask))
print("x" * 100_000, flush=True)
time.sleep(60)
"""
    container = begin(sandbox, tmp_path / "p", interpreter, stubborn)
    out = tmp_path / "p/tmp/out"
    deadline = time.monotonic() + 30
    while not (out.exists() and out.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert out.read_text() == "0o77"
    assert container.poll() is None
    assert container.pid > 0
    assert container.resident() > 2**20
    container.end(grace=0.5)
    assert sandbox.exit_status(container.poll() or 0) == -9
    assert 60_000 < len(container.output()[0]) <= 100_001
    assert ids(engine, sandbox) == []
    container.end()


@pytest.mark.parametrize("how", ["killed", "removed"])
def test_a_container_that_someone_else_ends(
    engine: docker.Engine, docker_sandbox: MakeDocker, interpreter: Interpreter, tmp_path: Path, how: str
) -> None:
    sandbox = docker_sandbox()
    container = begin(sandbox, tmp_path / "p", interpreter, "import time; time.sleep(60)")
    with contextlib.closing(engine.client()) as client:
        if how == "killed":
            client.kill(container.id)
        else:
            client.remove_container(container.id, force=True)
    try:
        if how == "killed":
            assert sandbox.exit_status(container.wait(30) or 0) == -9
            assert container.why() == ""
        else:
            with pytest.raises(SandboxLost, match=re.escape(container.name)) as lost:
                container.wait(30)
            assert lost.value.exit_code == 3
    finally:
        container.end()


def test_a_run_goes_on_after_its_container_was_killed(
    engine: docker.Engine, project: MakeProject, docker_sandbox: MakeDocker, labs: Callable[..., TestLab]
) -> None:
    sandbox = docker_sandbox()
    one = labs(sandbox, project({"test_it.py": SLOW}), *PLAIN)
    one.collect()
    (first,) = ids(engine, sandbox)
    with contextlib.closing(engine.client()) as client:
        client.kill(first)
    lost, next_one = one.run(Mode.FORK), one.run(Mode.FORK)
    assert set(outcomes(lost).values()) == {"not_run"}
    assert not lost.controls_held
    assert outcomes(next_one) == {"test_one": "passed", "test_slow": "passed", "test_last": "passed"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_is_gone_is_named(
    engine: docker.Engine, docker_sandbox: MakeDocker, interpreter: Interpreter, tmp_path: Path
) -> None:
    gone = dataclasses.replace(engine, settings={"base_url": f"unix://{tmp_path}/gone.sock"}, url="unix://gone.sock")
    sandbox = docker.Docker(gone, docker_sandbox().image, run="gone", bounds=docker.Bounds())
    with pytest.raises(SandboxLost, match=r"gone\.sock stopped answering"):
        begin(sandbox, tmp_path / "p", interpreter, "pass")
    with pytest.raises(SandboxUnavailable, match="not there"):
        docker.connect({"DOCKER_HOST": f"unix://{tmp_path}/gone.sock"}, kinds=("docker",))
    gc.collect()  # the SDK leaves a socket open where it cannot connect: not to be held against a later test


def test_an_image_that_is_not_there_is_named(
    engine: docker.Engine, docker_sandbox: MakeDocker, interpreter: Interpreter, tmp_path: Path
) -> None:
    with pytest.raises(ImageMissing, match="no-such-image"):
        docker.named(engine, "localhost:1/no-such-image:1")
    gone = dataclasses.replace(docker_sandbox().image, id="sha256:" + "0" * 64)
    with pytest.raises(ImageMissing, match="any more"):
        begin(docker_sandbox(image=gone), tmp_path / "p", interpreter, "pass")


def test_a_program_that_is_not_there_leaves_no_container(engine: docker.Engine, docker_sandbox: MakeDocker) -> None:
    sandbox = docker_sandbox()
    status, _, err = sandbox.ask(["no-such-program"])
    assert status != 0
    assert "No such file or directory" in err
    assert ids(engine, sandbox) == []


def test_the_base_image_is_made_once(engine: docker.Engine, interpreter: Interpreter, base_image: docker.Image) -> None:
    assert docker.base_from_interpreter(engine, interpreter) == base_image
    assert base_image.reference.startswith("repro-gate/base:")


@pytest.mark.skipif(not Path(SYSTEM_PYTHON).exists(), reason=f"there is no {SYSTEM_PYTHON}")
def test_a_base_image_has_the_names_of_a_system_interpreter(
    engine: docker.Engine, docker_sandbox: MakeDocker, tmp_path: Path
) -> None:
    found = probe(SYSTEM_PYTHON, os.environ, tmp_path)
    sandbox = docker_sandbox(image=docker.base_from_interpreter(engine, found))
    for name in (SYSTEM_PYTHON, "python3", str(Path(SYSTEM_PYTHON).resolve())):
        status, out, err = sandbox.ask([name, "-c", "import ssl, json, sys; print(sys.version)"])
        assert (status, out.split()[:1]) == (0, [found.version]), err


@pytest.mark.parametrize(("network", "devices"), [("blocked", ["lo"]), ("allowed", ["eth0", "lo"])])
def test_there_is_a_network_only_where_it_is_allowed(
    project: MakeProject, docker_sandbox: MakeDocker, labs: Callable[..., TestLab], network: str, devices: list[str]
) -> None:
    tests = f"import os\ndef test_it(): assert sorted(os.listdir('/sys/class/net')) == {devices}\n"
    one = labs(docker_sandbox(), project({"test_it.py": tests}), *PLAIN, network=network)
    assert outcomes(one.run(Mode.FRESH, network=network)) == {"test_it": "passed"}


def test_a_dockerfile_is_built_and_its_own_python_runs_the_tests(
    engine: docker.Engine,
    base_image: docker.Image,
    project: MakeProject,
    docker_sandbox: MakeDocker,
    labs: Callable[..., TestLab],
) -> None:
    root = project({"test_it.py": "import os\ndef test_it(): assert os.environ['FROM_IMAGE'] == 'yes'\n"})
    recipe = f"FROM {base_image.reference}\nENV FROM_IMAGE=yes PYTHONPATH=/packages\nCOPY packages /packages\n"
    context = project({"Dockerfile": recipe}, name="context")
    installed = Path(pytest.__file__).parent.parent
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for path in (installed / name, *installed.glob(f"{name}-*.dist-info")):
            shutil.copytree(path, context / "packages" / path.name)
    shutil.copy(installed / "py.py", context / "packages")
    image = docker.built(engine, context / "Dockerfile")
    sandbox = docker_sandbox(image=image)
    inside = sandbox.interpreter("python3")
    assert inside is not None
    assert (inside.directories, image.own_python) == ((), True)
    one = labs(sandbox, root, interpreter=inside, env={"PYTHONPATH": "/not/of/the/image"})
    result = one.run(Mode.FRESH)
    assert outcomes(result) == {"test_it": "passed"}, result
    (context / "Dockerfile").write_text("FROM localhost:1/no-such-image\n")
    with pytest.raises(ImageMissing, match="cannot be built"):
        docker.built(engine, context / "Dockerfile")


def test_only_containers_of_an_ended_process_count_as_abandoned(
    engine: docker.Engine, docker_sandbox: MakeDocker, interpreter: Interpreter, tmp_path: Path
) -> None:
    sandbox = docker_sandbox()
    mine = begin(sandbox, tmp_path / "p", interpreter, "import time; time.sleep(60)")
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            begin(sandbox, tmp_path / "q", interpreter, "import time; time.sleep(60)")
        os._exit(0)
    os.waitpid(child, 0)
    assert len(ids(engine, sandbox)) == 2
    docker.sweep_abandoned(engine)
    assert eventually_none(lambda: [each for each in ids(engine, sandbox) if each != mine.id]) == []
    assert mine.poll() is None
    assert docker.sweep(engine, sandbox.run) == 1
    mine.end()
