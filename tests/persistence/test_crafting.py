"""Files that were changed and sealed again: refused, or a model that works; no crash, no hang."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, Queue
from threading import Thread

import pytest

import onepass
from tests.persistence.crafting import REFUSED, WORKS, reseal, unpacked, write_templates

PATIENCE = 60.0  # seconds without a line, on a busy machine, that count as a hang


def results(folder, seed, first, stop):
    """Yield (number of the file, what came of it), beginning again after each end of a process."""
    while first < stop:
        command = [sys.executable, "-m", "tests.persistence.crafting", folder, seed, first, stop]
        process = subprocess.Popen(
            [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines = Queue()
        reader = Thread(target=_read, args=(process.stdout, lines))
        reader.start()
        started = False
        try:
            while (line := lines.get(timeout=PATIENCE + 240 * (not started))) is not None:
                number, _, found = line.strip().partition(" ")
                started = True
                if not found:  # the process ended within this file
                    break
                first = int(number) + 1
                yield first - 1, found
            if first < stop:
                yield first, f"the process ended with {process.wait()}"
        except Empty:
            yield first, "a hang"
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        first += 1


def _read(stream, lines):
    """Put the lines of a stream into a queue, and None at its end."""
    for line in stream:
        lines.put(line)
    lines.put(None)


def check(folder, seed, count, processes):
    """Demand that all crafted files are refused or work, and that neither is rare."""
    edges = [count * i // processes for i in range(processes + 1)]
    folders = [folder / str(i) for i in range(processes)]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor(processes) as pool:
        runs = pool.map(
            lambda i: list(results(folders[i], seed, edges[i], edges[i + 1])), range(processes)
        )
        found = [result for run in runs for result in run]
    assert len(found) == count
    counts = Counter(what for _, what in found if what in (REFUSED, WORKS))
    wrong = [(number, what) for number, what in found if what not in counts]
    assert not wrong, f"{len(wrong)} of {count}, seed {seed}: {wrong[:20]}"
    assert min(counts[REFUSED], counts[WORKS]) > count / 20, counts


def test_crafted_files(tmp_path):
    check(tmp_path, seed=0, count=250, processes=1)


@pytest.mark.long
def test_many_crafted_files(tmp_path):
    check(tmp_path, seed=1, count=20_000, processes=2)


def test_a_file_that_is_only_sealed_again_is_the_same_model(tmp_path):
    """Otherwise the crafted files would be refused for the way they are written."""
    for path in write_templates(tmp_path):
        before = onepass.load(path).components_
        reseal(path, *unpacked(path))
        assert (onepass.load(path).components_ == before).all()
