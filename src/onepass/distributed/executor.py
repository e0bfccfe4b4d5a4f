"""Where the tasks of a fit run: in this process, in a pool of processes, or on a Dask cluster."""

from __future__ import annotations

import queue
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from contextlib import closing
from typing import Any
from weakref import WeakSet

from onepass.distributed.shards import ShardError

LOOK_EVERY = 10.0  # seconds without a result, after which the scheduler is asked
PATIENCE = 6  # times in a row: a scheduler may need a while to read a large graph

RowCounter = Callable[[int], None]  # called with a number of rows


class Executor(ABC):
    """Runs tasks, some of which need the results of others."""

    @abstractmethod
    def submit(
        self, function: Callable[..., Any], *args: Any, label: str = "", progress: Any = None
    ) -> Any:
        """Return a handle of the task ``function(*args)``.

        Arguments may be handles of other tasks, and Dask's collections, which are computed.
        Messages name the task by its `label`. When it is done, `progress` is called in this
        process with the `rows` of its result.
        """

    def share(self, value: Any) -> Any:
        """Return what stands for a value that is an argument of several tasks: itself."""
        return value

    @abstractmethod
    def results(self, handles: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        """Yield number and result of each handle when it is done, in any order.

        Nothing goes on after the end, errors and closing included.
        """


def executor_for(client: Any) -> Executor:
    """Return what runs tasks, given a client of Dask, a `concurrent.futures.Executor`, or None.

    None is the default client of Dask, or this process if there is none.
    """
    if isinstance(client, futures.Executor):
        return Pool(client)
    if client is None and sys.modules.get("distributed"):
        from distributed import default_client

        try:
            client = default_client()
        except ValueError:
            client = None
    if client is None:
        return InProcess()
    if not hasattr(client, "scheduler"):
        raise TypeError(
            f"{type(client).__name__} runs no tasks: pass a client of Dask, an executor of "
            "concurrent.futures, or None"
        )
    return DaskClient(client)


class InProcess(Executor):
    """Runs each task when it is submitted: a handle is the result itself.

    Handles that are made one by one, while `results` is read, are done one by one.
    """

    def submit(
        self, function: Callable[..., Any], *args: Any, label: str = "", progress: Any = None
    ) -> Any:
        """Return the result."""
        result = function(
            *(arg.compute(scheduler="synchronous") if _is_collection(arg) else arg for arg in args)
        )
        if progress is not None:
            progress(result.rows)
        return result

    def results(self, handles: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        """Yield number and result of each handle."""
        yield from enumerate(handles)


class Waiting:
    """A task that runs in this process when its result is asked for."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], progress: RowCounter | None
    ) -> None:
        self.function, self.args, self.progress = function, args, progress

    def result(self) -> Any:
        """Return the result, once: what the task was made from is dropped, for its memory."""
        args, self.args = iter(self.args), ()
        kinds = (Waiting, futures.Future)
        result = self.function(*(arg.result() if isinstance(arg, kinds) else arg for arg in args))
        if self.progress is not None:
            self.progress(result.rows)
        return result


class Pool(Executor):
    """Runs tasks in an executor of `concurrent.futures`.

    Its futures cannot be arguments of other tasks, so tasks that need other results run in this
    process: learning takes far longer than merging.
    """

    def __init__(self, executor: futures.Executor) -> None:
        self._executor = executor
        self._futures: WeakSet[Any] = WeakSet()  # results are kept by the tasks that need them

    def submit(
        self, function: Callable[..., Any], *args: Any, label: str = "", progress: Any = None
    ) -> Waiting:
        """Return a handle of the task."""
        if any(map(_is_collection, args)):
            raise TypeError("Dask's collections need Dask's client, or none")
        if any(isinstance(arg, Waiting) for arg in args):
            return Waiting(function, args, progress)
        future = self._executor.submit(function, *args)
        self._futures.add(future)
        return Waiting(lambda result: result, (future,), progress)

    def results(self, handles: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        """Yield number and result of each handle, in their order."""
        try:
            waiting = list(handles)
            for number in range(len(waiting)):
                handle, waiting[number] = waiting[number], None
                yield number, handle.result()
        finally:
            for future in self._futures:
                future.cancel()


class DaskClient(Executor):
    """Runs tasks on a Dask cluster, which holds intermediate results."""

    def __init__(self, client: Any) -> None:
        if client.status != "running":
            # Such a client would keep the tasks and wait. One that found no scheduler stays the
            # default client for a while.
            raise ConnectionError(
                f"{client} is {client.status}: give a client that has a scheduler"
            )
        self._client, self._name = client, uuid.uuid4().hex
        self._labels: dict[str, str] = {}  # of tasks, by their keys
        self._counts: list[tuple[Any, RowCounter]] = []  # tasks whose results are numbers of rows

    def submit(
        self, function: Callable[..., Any], *args: Any, label: str = "", progress: Any = None
    ) -> Any:
        """Return a delayed object."""
        from dask.delayed import delayed

        key = f"onepass-{function.__name__}-{self._name}-{len(self._labels)}"
        task = delayed(function, pure=False)(*args, dask_key_name=key)
        self._labels[key] = label
        if progress is not None:
            # The result itself is not asked for, so that a worker drops it once it was used.
            self._counts.append((task.rows, progress))
        return task

    def share(self, value: Any) -> Any:
        """Return a delayed object, which is sent to the cluster once."""
        from dask.delayed import delayed

        return delayed(value, name=f"onepass-shared-{uuid.uuid4().hex}", traverse=False)

    def results(self, handles: Iterable[Any]) -> Generator[tuple[int, Any], None, None]:
        """Yield number and result of each handle when it is done, in any order."""
        tasks, counts = list(handles), self._counts
        self._counts = []
        submitted = self._client.compute([*tasks, *(task for task, _ in counts)])
        numbers = {future.key: number for number, future in enumerate(submitted)}
        with closing(self._finished(submitted)) as finished:
            for key, result in finished:
                number = numbers[key]
                if number < len(tasks):
                    yield number, result
                else:
                    counts[number - len(tasks)][1](result)

    def _finished(self, submitted: list[Any]) -> Generator[tuple[str, Any], None, None]:
        """Yield key and result of each future when it is done; in the end, release all of them.

        The scheduler drops tasks whose futures are released. If it does not know a future any
        more, that future will never be done, and this is an error.
        """
        from distributed import CancelledError, KilledWorker

        address = self._client.scheduler.address
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in submitted:
            future.add_done_callback(done.put)
        left, unknown = len(submitted), 0
        try:
            while left:
                try:
                    future = done.get(timeout=LOOK_EVERY)
                except queue.Empty:
                    unknown = 0 if self._are_known(submitted) else unknown + 1
                    if unknown >= PATIENCE:
                        message = f"The scheduler {address} does not know the work any more"
                        raise ConnectionError(message) from None
                    continue
                left, unknown = left - 1, 0
                result = future.result()
                future.release()
                yield future.key, result
        except KilledWorker as error:
            task = str(error.task)
            raise ShardError(
                f"{self._labels.get(task) or task}: every worker that tried it died, most often "
                "for lack of memory; their logs say more"
            ) from error
        except CancelledError as error:
            message = f"The scheduler {address} is gone, or the work was cancelled"
            raise ConnectionError(message) from error
        finally:
            for future in submitted:
                future.release()

    def _are_known(self, submitted: list[Any]) -> bool:
        """Return whether each future is done or known to the scheduler."""
        waiting = {future.key: future for future in submitted if not future.done()}
        states = self._client.sync(self._client.scheduler.get_task_status, keys=list(waiting))
        return all(
            state is not None or waiting[key].done()
            for key, state in states.items()
            if key in waiting
        )


def _is_collection(value: Any) -> bool:
    """Return whether a value is one of Dask's collections, such as a delayed object."""
    return hasattr(value, "__dask_graph__")
