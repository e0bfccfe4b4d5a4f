"""Generated csv files give the numbers they were made of, or a clear refusal."""

import numpy as np
import pytest

from onepass.sources import SourceError, open_source, plain_text

WORDS = [
    "Oslo",
    'Rio "de" J',
    '5" pipe',
    "a,b",
    "x;y",
    "tab\there",
    "two\nlines",
    "größe",
    "",
    "a|b",
]
LINE_BREAKS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
# What both pandas and pyarrow take for a missing value by default.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"]
MISSING += ["1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]


def number_text(rng, value):
    """One of the ways to write a number, or a missing one, that read it back exactly."""
    value = float(value)
    if np.isnan(value):
        return str(rng.choice(MISSING))
    if value == int(value) and rng.random() < 0.5:
        return str(int(value))
    return rng.choice([repr(value), f"{value:.17g}", f"{value:.17e}", f"{value:.17E}"])


def quoted(rng, text, delimiter, always):
    special = any(mark in text for mark in (delimiter, "\n", "\r")) or text.startswith('"')
    if special or always or rng.random() < 0.1:
        return '"' + text.replace('"', '""') + '"'
    return text


def make_csv(rng, path):
    """Write a file; return how it was written, its numbers and the names of its columns."""
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    is_text = rng.random(d) < 0.3
    is_text[rng.integers(d)] = False
    scale = 10.0 ** rng.integers(-5, 6, size=d)
    numbers = rng.standard_normal((n, d)) * scale
    whole = rng.random(d) < 0.3
    numbers[:, whole] = numbers[:, whole].round()
    numbers[1:][rng.random((n - 1, d)) < rng.choice([0, 0.3])] = np.nan
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    line_break = LINE_BREAKS[str(rng.choice(list(LINE_BREAKS)))]
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    header = bool(rng.random() < 0.7)
    always = bool(rng.random() < 0.2)
    lines = []
    names = [str(rng.choice(["x", "the name", "a.b", "c_"])) + str(j) for j in range(d)]
    if header:
        lines.append(delimiter.join(quoted(rng, name, delimiter, always) for name in names))
    for row in numbers:
        cells = [
            quoted(
                rng, str(rng.choice(WORDS)) if text else number_text(rng, value), delimiter, always
            )
            for text, value in zip(is_text, row, strict=True)
        ]
        if d == 1 and cells[0] == "":
            cells[0] = '""'
        lines.append(delimiter.join(cells))
        if rng.random() < 0.03:
            lines.append("")
    content = line_break.join(lines) + (line_break if rng.random() < 0.8 else "")
    path.write_bytes(content.encode(encoding))
    options = {"delimiter": delimiter, "header": header}
    return options, numbers[:, ~is_text], [j for j in range(d) if not is_text[j]], names


def check_csv(rng, path):
    options, numbers, columns, names = make_csv(rng, path)
    keywords = {"columns": columns}
    if rng.random() < 0.5:
        keywords |= options
    refused = 0
    try:
        source = open_source(path, **keywords)
    except SourceError as error:
        if "names or data" not in str(error):
            raise
        refused = 1
        source = open_source(path, columns, header=options["header"])
    expected = [names[j] for j in columns] if options["header"] else [str(j) for j in columns]
    assert source.feature_names == expected
    np.testing.assert_array_equal(np.vstack(list(source)), numbers)
    start = int(rng.integers(len(numbers)))
    rest = [block for _, block in source.blocks((0, start))]
    np.testing.assert_array_equal(np.vstack(rest), numbers[start:])
    return refused


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.long)])
def test_csv(tmp_path, monkeypatch, count):
    rng = np.random.default_rng(count)
    refused = 0
    for number in range(count):
        # Rows of a block, so that pieces are cut at every place.
        monkeypatch.setattr(plain_text, "BLOCK_BYTES", int(rng.integers(400, 2000)))
        try:
            refused += check_csv(rng, tmp_path / "a.csv")
        except Exception as error:
            error.add_note(f"file {number}: {(tmp_path / 'a.csv').read_bytes()[:2000]!r}")
            raise
    assert refused < count / 4


@pytest.mark.parametrize("line_break", LINE_BREAKS)
@pytest.mark.parametrize("mark", ["", '"'])
def test_csv_cut_at_every_place(tmp_path, monkeypatch, line_break, mark):
    """Whatever the block, nothing is lost or made up where it ends."""
    words = [f"{mark}{word}{mark}" for word in ("a", 'b"c', "d")]
    words = [word.replace('b"c', 'b""c') if mark else word for word in words]
    lines = ["x,y,z", *(f"{i},{words[i % 3]},{i / 8}" for i in range(40))]
    (tmp_path / "a.csv").write_bytes(LINE_BREAKS[line_break].join(lines).encode())
    expected = [[i, i / 8] for i in range(40)]
    for size in range(130, 330):
        monkeypatch.setattr(plain_text, "BLOCK_BYTES", size)
        source = open_source(tmp_path / "a.csv", columns=["x", "z"])
        assert np.vstack(list(source)).tolist() == expected
