import pytest

from shop import audit


def test_entries_come_back_in_order(tmp_path):
    journal = audit.Journal(tmp_path / "journal.jsonl")
    journal.write("ada", "refund", order="R-100", note="für Käthe")
    journal.write("ben", "login")
    assert journal.entries() == [
        {"user": "ada", "action": "refund", "order": "R-100", "note": "für Käthe"},
        {"user": "ben", "action": "login"},
    ]


def test_close_day():
    record = audit.close_day("2024-03-01", 48250)
    assert record.read_text(encoding="utf-8") == "48250\n"


def test_day_is_closed_only_once(tmp_path):
    audit.close_day("2024-03-02", 1000, var=tmp_path)
    with pytest.raises(audit.AlreadyClosed, match="2024-03-02"):
        audit.close_day("2024-03-02", 2000, var=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["closed-2024-03-02.txt"]


def test_actions_of_one_user(journal_db):
    assert audit.actions_of(journal_db, "ada") == ["login", "refund", "logout"]


def test_entries_per_user(journal_db):
    assert audit.entries_per_user(journal_db) == {"ben": 1, "ada": 3}
