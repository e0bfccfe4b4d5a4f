"""The benchmark of files runs, and says something about each of them."""

from click.testing import CliRunner

from benchmarks import files


def test_every_way_to_write_rows(monkeypatch):
    monkeypatch.setattr(files, "peak_memory", lambda path, k: "7")
    words = ["--rows", "500", "--columns", "6", "-k", "2", "--repeat", "1"]
    result = CliRunner().invoke(files.main, words, catch_exceptions=False)
    _, _, *lines = [line.split("|")[1:-1] for line in result.stdout.splitlines()]
    names = [name.strip() for name, *_ in lines]
    assert names == ["rows.csv", "million-rows.parquet", "many-groups.parquet"]
    for _, reading, fitting, ratio, memory in lines:
        assert float(reading) > 0
        assert float(fitting.replace(",", "")) > 0
        assert float(ratio) > 0
        assert memory.strip() == "7"
