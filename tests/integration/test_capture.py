"""What tests write is caught in a fork as in a session of its own, by the streams that imports have kept, too."""

from __future__ import annotations

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject

PLAIN = ("-p", "no:randomly")
TESTS = """\
    import logging, os, subprocess, sys
    from sys import stderr, stdout

    print("collected", flush=True)
    HANDLER = logging.StreamHandler()  # keeps sys.stderr

    def test_it_is_the_stream_that_sys_has():
        assert (stdout, stderr, HANDLER.stream) == (sys.stdout, sys.stderr, sys.stderr)

    def test_it_can_be_written_to():
        print("kept", file=stdout)
        print("by the handler", file=HANDLER.stream)
        subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)
        assert False, "so that it is told"

    def test_nothing_of_others_is_in_it(capfd):
        os.write(1, b"own")
        assert capfd.readouterr() == ("own", "")
"""


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("capture", ["fd", "sys", "tee-sys"])
def test_streams_that_imports_have_kept_are_those_of_tests(
    project: MakeProject, host_lab: MakeLab, mode: Mode, capture: str
) -> None:
    one = host_lab(project({"test_it.py": TESTS}), *PLAIN, f"--capture={capture}")
    for _ in range(2):
        result = one.run(mode)
        assert [str(run.outcome) for run in result.runs] == ["passed", "failed", "passed"], [
            run.output[-600:] for run in result.runs
        ]
        told = result.runs[1].output
        assert "kept\n" in told
        assert "by the handler\n" in told
        assert ("by a child\n" in told) is (capture == "fd")
        assert told.count("kept\n") == 1
        assert "collected" not in told
