"""Reading ahead: order, errors, early stop, bounded depth."""

import threading
import time

import pytest

from onepass.sources.files import read_ahead


def test_errors_come_where_they_happen():
    def numbers():
        yield 1
        raise OSError("the disk is gone")

    ahead = read_ahead(numbers(), lambda: None)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_it_reads_four_ahead_and_no_more():
    made = []
    ahead = read_ahead((made.append(i) or i for i in range(100)), lambda: None)
    assert next(ahead) == 0
    deadline = time.monotonic() + 10
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)
    assert len(made) == 5  # one in the consumer's hands, four waiting
    ahead.close()


def test_stopping_early_wakes_the_thread_and_closes_the_iterator():
    release, closed = threading.Event(), []

    def numbers():
        try:
            yield 1
            assert release.wait(10)
        finally:
            closed.append(True)

    before = threading.active_count()
    ahead = read_ahead(numbers(), release.set)
    assert next(ahead) == 1
    ahead.close()
    assert closed == [True]
    assert threading.active_count() == before
