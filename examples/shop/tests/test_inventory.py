import os
import threading
from concurrent.futures import ThreadPoolExecutor

from shop import inventory, reports


def write_count(directory, month, text):
    (directory / f"{month}.csv").write_text(text, encoding="utf-8")


def test_latest_count_wins(tmp_path):
    write_count(tmp_path, "2024-02", "TEA-1,12\n")
    write_count(tmp_path, "2024-01", "TEA-1,20\nMUG-1,7\n")
    write_count(tmp_path, "2024-03", "TEA-1,12\nTEA-2,4\n")
    assert inventory.load_counts(tmp_path) == {"TEA-1": 12, "TEA-2": 4, "MUG-1": 7}


def test_months_are_sorted(tmp_path):
    for month in ("2024-02", "2023-12", "2024-01"):
        write_count(tmp_path, month, "TEA-1,1\n")
    (tmp_path / "README").write_text("counts by month\n", encoding="utf-8")
    assert inventory.months(tmp_path) == ["2023-12", "2024-01", "2024-02"]


def test_reserving_from_many_threads():
    stock = inventory.Stock({"TEA-1": 500})

    def visitor():
        for _ in range(50):
            stock.reserve("TEA-1")

    threads = [threading.Thread(target=visitor) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stock.count("TEA-1") == 200


def test_counts_from_a_pool():
    stock = inventory.Stock({f"TEA-{n}": n for n in range(20)})
    with ThreadPoolExecutor(max_workers=4) as pool:
        counts = list(pool.map(stock.count, [f"TEA-{n}" for n in range(20)]))
    assert counts == list(range(20))


def test_export_of_stock():
    stock = inventory.Stock({f"TEA-{n:03}": n for n in range(400)})
    path = reports.export_path()
    try:
        reports.export(stock.rows(), path)
        exported = reports.read_export(path)
    finally:
        if os.path.exists(path):
            os.remove(path)
    assert len(exported) == 400
    assert exported[42] == ("TEA-042", "42")
