"""Who did what, and which days are closed."""

import json

from shop import config


class AlreadyClosed(Exception):
    pass


class Journal:
    """Entries as lines of JSON in a file."""

    def __init__(self, path):
        self._path = path

    def write(self, user, action, **details):
        entry = {"user": user, "action": action, **details}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, sort_keys=True) + "\n")

    def entries(self):
        with open(self._path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def close_day(day, total, var=None):
    """Close the books of ``day``; nothing may be booked on it afterwards. Returns the record."""
    var = config.VAR if var is None else var
    var.mkdir(parents=True, exist_ok=True)
    record = var / f"closed-{day}.txt"
    try:
        with open(record, "x", encoding="utf-8") as file:
            file.write(f"{total}\n")
    except FileExistsError:
        raise AlreadyClosed(str(day)) from None
    return record


def create_tables(db):
    db.execute("CREATE TABLE entry (user TEXT NOT NULL, action TEXT NOT NULL)")


def actions_of(db, user):
    found = db.execute("SELECT action FROM entry WHERE user = ? ORDER BY rowid", (user,))
    return [action for (action,) in found]


def entries_per_user(db):
    return dict(db.execute("SELECT user, count(*) FROM entry GROUP BY user"))
