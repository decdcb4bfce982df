"""Tables for the terminal, files for the bookkeeper."""

import csv
import os
import shutil
import tempfile
import time

from shop import config


def table(rows, width=None):
    """(name, amount) rows as text; names that do not fit are cut."""
    if width is None:
        width = shutil.get_terminal_size().columns
    amount_width = 14
    name_width = max(width - amount_width, 8)
    lines = []
    for name, amount in rows:
        if len(name) > name_width:
            name = name[: name_width - 3] + "..."
        lines.append(f"{name:<{name_width}}{amount:>{amount_width}}")
    return "\n".join(lines)


def export_path():
    """Where the bookkeeper's program looks for the export."""
    return os.path.join(tempfile.gettempdir(), "shop-export.csv")


def export(rows, path, page=50):
    """Write ``rows`` as CSV, with a pause after each page to leave the disk to the shop."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for start in range(0, len(rows), page):
            writer.writerows(rows[start : start + page])
            file.flush()
            time.sleep(config.EXPORT_PAUSE)


def read_export(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def save_note(path, text):
    """Keep a note on a customer."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def load_note(path):
    with open(path) as file:
        return file.read()
