"""How the kernels are compiled: once per machine, cached on disk, and announced when it happens."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

F = TypeVar("F", bound=Callable[..., Any])

MESSAGE = "onepass: compiling its kernels for this machine, once (about 20 s) ..."


class _Announcement(event.Listener):
    """Says on the first real compilation of one of our functions that it happens, once.

    Numba triggers "numba:compile" only after it has looked into its disk cache in vain, so a
    cached kernel says nothing, and without the compiler (NUMBA_DISABLE_JIT=1) nothing is triggered.
    """

    said = False

    def on_start(self, event_: event.Event) -> None:
        """Say it, if the function is ours."""
        module = event_.data["dispatcher"].py_func.__module__
        if not self.said and module.startswith("onepass."):
            self.said = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event_: event.Event) -> None:
        """Say nothing when it is done."""


def _kernel_sources() -> str:
    """Return a digest of the source of all kernels."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Files(IndexDataCacheFile):
    """One file for each compiled function and its types; what it was made from is written inside.

    Numba numbers its files and keeps an index of them. Processes that compile at the same time may
    then find the code of one function under the name of another.
    """

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._file_name(key), (key, data))

    def load(self, key: Any) -> Any:
        try:
            found, data = self._load_data(self._file_name(key))
        except OSError:
            return None
        return data if found == key else None

    def _file_name(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key[0]).encode()).hexdigest()
        return f"{self._index_name.removesuffix('.nbi')}.{digest[:16]}.nbc"


class _Cache(FunctionCache):
    """Numba's disk cache, which also notices when a kernel that a function calls has changed.

    Machine code contains that of the functions it calls, but Numba asks only whether the file of
    the caller is still the same: a rule would go on with the kernels of an older release. And a
    function made around another compiled function is found again, which Numba does not manage.
    """

    sources = _kernel_sources()

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Return which function it is, for which types, and what it was made from."""
        parts = [self._py_func, *(c.cell_contents.py_func for c in self._py_func.__closure__ or ())]
        names = [f"{part.__module__}.{part.__qualname__}" for part in parts]
        code = [Path(part.__code__.co_filename).read_bytes() for part in parts]
        digests = [hashlib.sha256(text).hexdigest() for text in code]
        return (str(sig), *names), (
            numba.__version__,
            codegen.magic_tuple(),
            *digests,
            self.sources,
        )


def jit(function: F) -> F:
    """Compile `function` on its first call, or load it from the cache on disk.

    Every compiled function of onepass is decorated with this and with nothing else. Division by
    zero gives inf or NaN instead of an error, since the check would keep loops from being
    vectorised. Other threads go on meanwhile, such as the one that reads the next rows. Where no
    directory can be written, each process compiles for itself.
    """
    compiled: Any = numba.njit(error_model="numpy", nogil=True)(function)
    if compiled is not function:  # it is under NUMBA_DISABLE_JIT=1
        with contextlib.suppress(RuntimeError):
            compiled._cache = _Cache(function)
    return cast(F, compiled)


event.register("numba:compile", _Announcement())
