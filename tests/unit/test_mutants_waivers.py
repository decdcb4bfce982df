"""Waivers need a reason, expire, and are known to be the change's own; a bad file names the key and the fix."""

from __future__ import annotations

import datetime

import pytest

from repro_gate.errors import ConfigError
from repro_gate.model import Mutant, Waiver
from repro_gate.mutants import Unexplained, Waivers, in_code, in_file, mutants_of

TODAY = datetime.date(2030, 5, 1)
MUTANT = "0123456789ab"


def one(text: str) -> Mutant:
    return mutants_of("a.py", text, frozenset({1, 2}))[0][0]


# --- comments --------------------------------------------------------------------------------


def test_a_comment_with_a_reason_waives_its_line() -> None:
    text = "x = 1\ny = 2  # noqa # pragma: no mutate  --  the same  by symmetry\n"
    assert in_code("a.py", text, base=text) == Waivers(
        waivers=(Waiver(file="a.py", reason="the same by symmetry", lines=frozenset({2})),)
    )


@pytest.mark.parametrize(
    "comment", ["# pragma: no mutate", "#pragma:no mutate", "# pragma: no mutate --", "# pragma: no mutate because", "# pragma: no mutate block"]
)  # fmt: skip
def test_a_comment_without_a_reason_is_a_finding(comment: str) -> None:
    found = in_code("a.py", f"x = 1  {comment}\n")
    assert found == Waivers(unexplained=(Unexplained(file="a.py", line=1, new=True),))
    assert (
        str(found.unexplained[0]) == "a.py:1: `# pragma: no mutate` waives nothing without a reason: add ` -- reason`"
    )


def test_a_comment_on_a_line_of_its_own_is_a_finding() -> None:
    found = in_code("a.py", "# pragma: no mutate -- why\nx = 1\n")
    assert found.waivers == ()
    assert "on a line of its own" in str(found.unexplained[0])


@pytest.mark.parametrize("text", ["s = '# pragma: no mutate -- a'\n", "# pragma: no cover -- a\n", "x = (  # pragma: no mutate -- a\n"])  # fmt: skip
def test_no_waiver_is_seen_in_strings_other_comments_and_broken_files(text: str) -> None:
    assert in_code("a.py", text) == Waivers()


def test_a_comment_that_moved_is_not_new_and_one_more_is() -> None:
    base = "x = 1  # pragma: no mutate -- a\n"
    text = "\n\nif z:\n    x = 1  # pragma: no mutate -- a\n    x = 1  # pragma: no mutate -- a\ny = 2  # pragma: no mutate -- a\n"
    assert [(sorted(each.lines), each.new) for each in in_code("a.py", text, base).waivers] == [
        ([4], False),
        ([5], True),
        ([6], True),
    ]
    assert [each.new for each in in_code("a.py", base).waivers] == [True]


# --- the file --------------------------------------------------------------------------------


def test_a_waiver_names_a_mutant_by_its_id_or_by_what_it_replaces() -> None:
    mutant = one("def f(a):\n    return a\n")
    content = f"""
        [[waiver]]
        file = "a.py"
        mutant = "{mutant.id}"
        reason = "equal"
        [[waiver]]
        file = "a.py"
        qualname = "f"
        original = "return  a"
        mutated = "return None"
        reason = "equal"
        expires = 2030-05-01
        [[waiver]]
        file = "a.py"
        qualname = "f"
        original = "return a"
        mutated = "return None"
        nth = 2
        reason = "equal"
        expires = "2031-01-01"
    """
    found = in_file(content.encode(), TODAY)
    assert [each.mutant == mutant.id for each in found.waivers] == [True, True, False]
    assert [each.expires for each in found.waivers] == ["", "2030-05-01", "2031-01-01"]
    assert {each.reason for each in found.waivers} == {"equal"}
    assert found.of(mutant) == found.waivers[0]


def test_a_waiver_is_of_its_file_and_of_its_lines() -> None:
    mutant = one("x = (\n    1)\n")
    assert (mutant.line, mutant.end_line) == (1, 2)
    here = Waiver(file="a.py", reason="r", lines=frozenset({mutant.end_line}))
    assert Waivers(waivers=(here,)).of(mutant) == here
    assert Waivers(waivers=(Waiver(file="b.py", reason="r", mutant=mutant.id),)).of(mutant) is None
    assert Waivers(waivers=(Waiver(file="a.py", reason="r", lines=frozenset({9})),)).of(mutant) is None


def test_an_expired_waiver_does_not_count_and_is_said() -> None:
    content = f'[[waiver]]\nfile = "a.py"\nmutant = "{MUTANT}"\nreason = "r"\nexpires = 2030-04-30\n'.encode()
    found = in_file(content, TODAY, base=content)
    assert found == Waivers(expired=(Waiver(file="a.py", mutant=MUTANT, reason="r", expires="2030-04-30"),))


def test_a_waiver_is_new_where_base_has_none_like_it() -> None:
    entry = f'[[waiver]]\nfile = "a.py"\nmutant = "{MUTANT}"\nreason = "r"\n'
    longer = entry + "expires = 2031-01-01\n"
    assert [each.new for each in in_file(entry.encode(), TODAY).waivers] == [True]
    assert [each.new for each in in_file(entry.encode(), TODAY, base=entry.encode()).waivers] == [False]
    assert [each.new for each in in_file(longer.encode(), TODAY, base=entry.encode()).waivers] == [True]
    assert [each.new for each in in_file(entry.encode(), TODAY, base=b"broken = [").waivers] == [True]


def test_an_empty_file_waives_nothing() -> None:
    assert in_file(b"", TODAY) == Waivers()


GOOD = {"file": '"a.py"', "mutant": f'"{MUTANT}"', "reason": '"r"'}
PARTS = {"file": '"a.py"', "reason": '"r"', "qualname": '"f"', "original": '"a"', "mutated": '"b"'}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (GOOD | {"reason": '" "'}, "waiver 1: reason = ' ' cannot be used: give a sentence that says why the mutant may live"),
        ({"file": '"a.py"', "mutant": f'"{MUTANT}"'}, "waiver 1: reason is missing: give a sentence"),
        (GOOD | {"file": "3"}, "waiver 1: file = 3 cannot be used: give the path from the top of the repository"),
        (GOOD | {"mutant": '"f_1"'}, "waiver 1: mutant = 'f_1' cannot be used: give the id that the report shows"),
        (GOOD | {"qualname": '"f"'}, "waiver 1: mutant and qualname both name a mutant: keep mutant alone"),
        ({"file": '"a.py"', "reason": '"r"'}, "waiver 1: names no mutant: give mutant, or qualname, original and mutated"),
        (PARTS | {"original": "1"}, "waiver 1: original = 1 cannot be used: give it as the report shows it, in quotes"),
        (PARTS | {"nth": "0"}, "waiver 1: nth = 0 cannot be used: give a number from 1"),
        (PARTS | {"nth": "true"}, "waiver 1: nth = True cannot be used"),
        (PARTS | {"nth": "0x" + "f" * 3900}, "waiver 1: nth = a number of thousands of digits cannot be used"),
        (GOOD | {"expires": '"May"'}, "waiver 1: expires = 'May' cannot be used: give a date such as 2030-12-31"),
        (GOOD | {"expires": "2030-01-01T00:00:00"}, "give a date such as 2030-12-31"),
        (GOOD | {"expire": "2030-01-01"}, 'waiver 1: unknown key "expire"; did you mean "expires"?'),
    ],
)  # fmt: skip
def test_a_bad_waiver_is_refused_with_the_key_and_the_fix(entry: dict[str, str], problem: str) -> None:
    content = "[[waiver]]\n" + "".join(f"{key} = {value}\n" for key, value in entry.items())
    with pytest.raises(ConfigError) as refused:
        in_file(content.encode(), TODAY)
    assert problem in str(refused.value)
    assert str(refused.value).startswith(".repro-gate/waivers.toml: ")
    assert "docs/mutants.md" in refused.value.next_step


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[[waivers]]\n", 'unknown key "waivers"; did you mean "waiver"?: only [[waiver]] is read'),
        (b"[waiver]\nfile = 'a'\n", "waiver must be a list of tables: write [[waiver]], not [waiver]"),
        (b"waiver = [1]\n", "waiver 1: must be a table: write [[waiver]]"),
        (b"[[waiver\n", ".repro-gate/waivers.toml:1: not valid TOML"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_bad_file_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        in_file(content, TODAY)
    assert problem in str(refused.value)


@pytest.mark.parametrize("content", [b"a" + b".a" * 3000 + b" = 1\n", b"# a waiver\n" * 30_000])
def test_a_file_that_nobody_wrote_by_hand_is_refused_before_it_is_read(content: bytes) -> None:
    with pytest.raises(
        ConfigError, match=f"waivers.toml has {len(content)} bytes: at most 256000 are read, and 4000 of a"
    ):
        in_file(content, TODAY)


def test_what_a_bad_value_shows_of_itself_is_short() -> None:
    with pytest.raises(ConfigError) as refused:
        in_file(f'[[waiver]]\nfile = "a.py"\nreason = "b"\nmutant = "{"f" * 3000}"\n'.encode(), TODAY)
    assert len(str(refused.value)) < 300


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        in_file(b"[[waiver]]\nfile = 'a.py'\n[[waiver]]\nx = 1\n", TODAY)
    assert str(refused.value).startswith("6 problems in the waivers:\n")
