"""Reading ahead: order, errors, early stop, bounded depth."""

import threading
import time

import pytest

from onepass.sources.files import read_ahead


def nothing():
    pass


def counted(n):
    yield from range(n)


def test_everything_comes_in_order():
    assert list(read_ahead(counted(1000), nothing)) == list(range(1000))
    assert list(read_ahead(counted(0), nothing)) == []


def test_errors_come_where_they_happen():
    def numbers():
        yield 1
        yield 2
        raise OSError("the disk is gone")

    ahead = read_ahead(numbers(), nothing)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_it_reads_four_ahead_and_no_more():
    made = []

    def numbers():
        for i in range(100):
            made.append(i)
            yield i

    ahead = read_ahead(numbers(), nothing)
    assert next(ahead) == 0
    # One in the consumer's hands, four waiting.
    wait_for(lambda: len(made) == 5)
    time.sleep(0.05)
    assert len(made) == 5
    ahead.close()


@pytest.mark.parametrize("taken", [1, 2, 50])
def test_stopping_early_closes_the_iterator(taken):
    closed = []

    def numbers():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    before = threading.active_count()
    ahead = read_ahead(numbers(), nothing)
    for _ in range(taken):
        next(ahead)
    ahead.close()
    assert closed == [True]
    assert threading.active_count() == before


def test_a_thread_that_waits_is_woken():
    release = threading.Event()

    def numbers():
        yield 1
        assert release.wait(10)

    before = threading.active_count()
    ahead = read_ahead(numbers(), release.set)
    assert next(ahead) == 1
    ahead.close()
    assert threading.active_count() == before
