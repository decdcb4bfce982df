import sqlite3

import pytest

from shop import audit
from shop.catalog import Catalog, Product


@pytest.fixture(scope="session")
def catalog():
    """The catalogue of the tests; nobody changes it."""
    return Catalog(
        [
            Product("TEA-1", "Earl Grey (loose leaf)", 850, frozenset(["organic", "sale"])),
            Product("TEA-2", "Sencha [first flush]", 1290, frozenset(["organic"])),
            Product("MUG-1", "Mug, blue", 1190, frozenset(["new"])),
            Product("SWE-1", "Käsekuchen", 2150),
            Product("BOX-1", "Box::large", 300),
        ]
    )


@pytest.fixture(scope="module")
def journal_db():
    """The audit journal in a database, with a few entries; only to be read."""
    db = sqlite3.connect(":memory:")
    audit.create_tables(db)
    db.executemany(
        "INSERT INTO entry VALUES (?, ?)",
        [("ada", "login"), ("ada", "refund"), ("ben", "login"), ("ada", "logout")],
    )
    db.commit()
    yield db
    db.close()
