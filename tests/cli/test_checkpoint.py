"""Interrupted runs continue from a checkpoint and end with the model of an undisturbed one."""

import itertools
import os
import shlex
import signal

import numpy as np
import pytest

import onepass
from onepass.cli.commands import ALGORITHMS
from onepass.progress import Progress
from onepass.sources import files
from tests.cli.commands import onepass as run
from tests.cli.commands import parts, rows
from tests.sources.files.written import WRITERS


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that sends a signal after a number of blocks."""

    def after(blocks, number=signal.SIGINT):
        done, advance = itertools.count(1), Progress.advance

        def counted(self, rows):
            advance(self, rows)
            if next(done) == blocks:
                signal.raise_signal(number)

        monkeypatch.setattr(Progress, "advance", counted)

    return after


def command(folder, data, *more, algorithm="capped-msg", output="m.onepass"):
    return ["fit", *data, "-k", 2, "--algorithm", algorithm, "-o", folder / output, *more]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_printed_command_goes_on(tmp_path, interrupt, algorithm):
    data = parts(tmp_path)
    more = ["--center", "--seed", "3", "--columns", "0,1,2,4"]
    run(*command(tmp_path, data, *more, algorithm=algorithm, output="whole"))
    interrupt(3)
    result = run(*command(tmp_path, data, *more, algorithm=algorithm), code=130)
    assert "180 rows are saved" in result.stderr
    assert not (tmp_path / "m.onepass").exists()
    words = shlex.split(result.stderr.splitlines()[-1])
    given = command(tmp_path, data, *more, algorithm=algorithm)
    assert sorted(words) == sorted(["onepass", *map(str, given), "--resume"])
    again = run(*words[1:])
    assert "continuing after 180 rows" in again.stderr
    assert (tmp_path / "m.onepass").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.onepass.checkpoint").exists()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_goes_on_in_the_middle_of_a_file(tmp_path, interrupt, monkeypatch, name):
    init = files.FileSource.__init__
    small = lambda *args, **given: init(*args, **{**given, "batch_rows": 7})  # noqa: E731
    monkeypatch.setattr(files.FileSource, "__init__", small)
    WRITERS[name](tmp_path / name, rows(50))
    data = [tmp_path / name]
    run(*command(tmp_path, data, output="whole"))
    interrupt(2)
    # A text file is one block here, and nothing is left to read after it: that must work, too.
    run(*command(tmp_path, data), code=130)
    run(*command(tmp_path, data, "--resume"))
    assert (tmp_path / "m.onepass").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("blocks", [1, 5])
def test_signals(tmp_path, interrupt, blocks, number):
    data = parts(tmp_path)
    run(*command(tmp_path, data, output="whole"))
    before = signal.getsignal(number)
    interrupt(blocks, number)
    run(*command(tmp_path, data), code=128 + number)
    assert signal.getsignal(number) is before
    run(*command(tmp_path, data, "--resume"))
    assert (tmp_path / "m.onepass").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_signal_while_the_model_is_written_is_too_late(tmp_path, monkeypatch):
    data = parts(tmp_path)
    save = onepass.CappedMSG.save

    def interrupted(model, path):
        signal.raise_signal(signal.SIGINT)
        save(model, path)

    monkeypatch.setattr(onepass.CappedMSG, "save", interrupted)
    run(*command(tmp_path, data))
    assert onepass.load(tmp_path / "m.onepass").n_samples_seen_ == 300


DIFFERENT = {
    "k": (lambda c: c.__setitem__(c.index("-k") + 1, 3), "components was 2 and is 3"),
    "algorithm": (lambda c: c.__setitem__(c.index("capped-msg"), "msg"), "was capped-msg and is"),
    "center": (lambda c: c.append("--no-center"), "center was True and is False"),
    "seed": (lambda c: c.extend(["--seed", 5]), "seed was 0 and is 5"),
    "more files": (lambda c: c.insert(2, c[1].with_name("new.npy")), "new.npy is new"),
    "order": (lambda c: c.insert(1, c.pop(2)), "in another order"),
    "size": (lambda c: np.save(c[2], rows(61, seed=1)), "part-1.npy was changed"),
    "time": (lambda c: os.utime(c[2], ns=(0, 0)), "part-1.npy was changed"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, interrupt, case):
    change, said = DIFFERENT[case]
    data = parts(tmp_path)
    np.save(tmp_path / "new.npy", rows())
    interrupt(2)
    run(*command(tmp_path, data), code=130)
    kept = (tmp_path / "m.onepass.checkpoint").read_bytes()
    words = command(tmp_path, data, "--resume")
    change(words)
    result = run(*words, code=2)
    assert said in result.stderr
    assert "m.onepass.checkpoint is of another run" in result.stderr
    assert (tmp_path / "m.onepass.checkpoint").read_bytes() == kept


def test_columns_by_another_name_are_refused(tmp_path, interrupt):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,5\n")
    os.utime(path, ns=(0, 0))
    interrupt(1)
    run(*command(tmp_path, [path]), code=130)
    path.write_text("x,z\n1,2\n3,5\n")
    os.utime(path, ns=(0, 0))
    result = run(*command(tmp_path, [path], "--resume"), code=2)
    assert "the columns were x,y and are x,z" in result.stderr


def test_damaged_or_finished_is_no_checkpoint(tmp_path, interrupt):
    data = parts(tmp_path)
    checkpoint = tmp_path / "m.onepass.checkpoint"
    interrupt(2)
    run(*command(tmp_path, data), code=130)
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 1
    checkpoint.write_bytes(content)
    assert "damaged" in run(*command(tmp_path, data, "--resume"), code=2).stderr
    onepass.CappedMSG(2).fit(rows()).save(checkpoint)
    assert "a finished model" in run(*command(tmp_path, data, "--resume"), code=2).stderr


def test_without_resume_it_begins_at_the_first_row_and_says_so(tmp_path, interrupt):
    data = parts(tmp_path)
    interrupt(2)
    run(*command(tmp_path, data), code=130)
    assert "would have continued it" in run(*command(tmp_path, data)).stderr
    assert onepass.load(tmp_path / "m.onepass").n_samples_seen_ == 300
    assert not (tmp_path / "m.onepass.checkpoint").exists()
    assert "there is no" in run(*command(tmp_path, data, "--resume")).stderr
