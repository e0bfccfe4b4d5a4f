"""Call bindings of the core with random arguments: ``python tests/core/fuzz.py NAME CALLS SEED``.

Most calls fit; others get arguments of a wrong type, shape, layout or range. A call must end in a
result or in one of the exceptions that are promised; anything else, a crash above all, ends the
process with an error. Prints how many calls had a result.
"""

import sys

import numpy as np
from scipy import sparse

from onepass import _core

PROMISED = (TypeError, ValueError, OverflowError, MemoryError)
FIXED_RANK = ("oja", "ada_oja", "grouse")
RULES = ("msg", "meg", "incremental", *FIXED_RANK)
SPOILED = 0.35  # share of the calls that do not fit
NOT_ARRAYS = (None, 3, -1.5, "rows", [1.0, 2.0], np.nan, 2**70, object())
NOT_NUMBERS = (None, "much", -1, -(2**62), 2**40, 2**80, np.nan, np.inf, -np.inf, 1e308, 5e-324, ())
TYPES = ("f4", ">f8", "f2", "i8", "?", "c16", "O", "U3")


class Arguments:
    """Random arguments that fit together, and ways to spoil them."""

    def __init__(self, rng):
        self.rng = rng

    def size(self, most=24):
        """Return a small number, often 0 or 1, rarely a large one."""
        if self.rng.random() < 0.02:
            most *= 8
        return int(self.rng.integers(0, self.rng.integers(1, most + 1) + 1))

    def array(self, *shape, dtype=np.float64):
        """Return numbers of many kinds, most of them finite."""
        rng = self.rng
        numbers, kind = rng.normal(size=shape), rng.integers(10)
        if kind <= 1:
            numbers = kind * rng.integers(-1, 2, size=shape).astype(float)
        elif kind == 2:
            numbers *= 10.0 ** rng.integers(-320, 300)
        elif kind == 3:
            numbers *= 10.0 ** rng.integers(-30, 30, size=shape).astype(float)
        elif kind == 4 and numbers.ndim == 2 and len(numbers):
            numbers = numbers[rng.integers(0, min(len(numbers), 3), size=len(numbers))]
        elif kind == 5 and numbers.size:
            place = int(rng.integers(numbers.size))
            numbers.flat[place] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324])
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(numbers, dtype)

    def basis(self, m, d, dtype):
        """Return orthonormal rows (m, d), or sometimes any."""
        if self.rng.random() < 0.1:
            return self.array(m, d, dtype=dtype)
        return np.ascontiguousarray(np.linalg.qr(self.rng.normal(size=(d, m)))[0].T, dtype)

    def dtype(self):
        return self.rng.choice([np.float64, np.float32])

    def rule(self, d):
        rng = self.rng
        name, k = str(rng.choice(RULES)), int(rng.integers(1, max(d, 1) + 1))
        memory = np.abs(self.array(3)) if rng.random() < 0.3 else rng.integers(0, 200, 3)
        rank, exact = int(rng.integers(k, k + 6)), bool(rng.integers(2))
        memory = np.nan_to_num(memory).tolist()
        return _core.Rule(name, k, max_rank=rank, exact_trace=exact, memory=memory)

    def state(self):
        """Return a rule, the numbers of directions, columns and rows, and the weights."""
        d, r = max(self.size(), 1), self.size(60)
        rule = self.rule(d)
        m = rule.k if rule.name in FIXED_RANK else int(self.rng.integers(0, d + 1))
        weights = np.sort(self.rng.random(m))[::-1] if self.rng.random() < 0.8 else self.array(m)
        rest = float(self.rng.choice([0.0, 0.0, 0.3, 1.0, np.inf]))
        return rule, m, d, r, np.ascontiguousarray(weights), rest

    def options(self):
        rng = self.rng
        return {
            "scale": float(abs(self.array(1)[0])),
            "seen": float(rng.choice([0.0, 1.0, 1e5])),
            "sums": bool(rng.integers(2)),
        }

    def steps(self, r):
        return None if self.rng.integers(2) else np.abs(self.array(r))

    def spoil(self, value):
        """Return something else in place of an argument."""
        rng = self.rng
        if not isinstance(value, np.ndarray):
            return NOT_NUMBERS[rng.integers(len(NOT_NUMBERS))]
        how = rng.integers(5)
        if how == 0:
            return NOT_ARRAYS[rng.integers(len(NOT_ARRAYS))]
        if how == 1:
            with np.errstate(all="ignore"):
                return value.astype(TYPES[rng.integers(len(TYPES))])
        if how == 2:
            return value[..., None] if rng.integers(2) else value.T
        if how == 3:
            return np.resize(value, [max(n + int(rng.integers(-1, 2)), 0) for n in value.shape])
        value = value.copy()
        value.setflags(write=False)
        return value


def advance(a):
    rule, m, d, r, weights, rest = a.state()
    dtype = a.dtype()
    rows = a.array(r, d, dtype=dtype)
    options = {**a.options(), "trusted": bool(a.rng.integers(2))}
    return [rule, a.basis(m, d, dtype), weights, rest, rows, a.steps(r)], options


def advance_gram(a):
    rule, m, d, r, weights, rest = a.state()
    stack = np.vstack([a.basis(m, d, np.float64), a.array(r, d)])
    with np.errstate(all="ignore"):
        gram = stack @ stack.T
    return [rule, gram, m, d, weights, rest, a.steps(r)], a.options()


def about(a, r, d, dtype):
    """Return rows in some order in memory, an origin, and a scale or None."""
    rows = a.array(r, d, dtype=dtype)
    rows = np.asfortranarray(rows) if a.rng.integers(2) else rows[:: int(a.rng.choice([1, -1]))]
    return [rows, a.array(d, dtype=dtype), None if a.rng.integers(2) else a.array(d, dtype=dtype)]


def add_outer(a):
    r, d, dtype = a.size(), a.size(), a.dtype()
    tile, first, step = (int(a.rng.integers(-1, 9)) for _ in range(3))
    rows = about(a, r, d, dtype)
    return [a.array(d, d, dtype=dtype), *rows, a.array(r), tile, first, step], {}


def measure(a):
    r, d, k, dtype = a.size(), a.size(), a.size(9), a.dtype()
    return [*about(a, r, d, dtype), a.array(d, dtype=dtype), a.array(k, d, dtype=dtype)], {}


def add_sparse_outer(a):
    r, d = a.size(), a.size(90)
    rows = sparse.random_array((r, d), density=a.rng.random(), format="csr", random_state=a.rng)
    rows.sort_indices()
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    if a.rng.random() < 0.3:
        array = starts if a.rng.random() < 0.5 or not len(indices) else indices
        wild = a.rng.choice([-(2**31), -1, 1, 5, r, d, 2**31 - 1])
        array[a.rng.integers(len(array))] = wild
    data = a.array(len(indices), dtype=a.dtype())
    options = {"single": bool(a.rng.integers(2)), "part": int(a.rng.integers(3)), "parts": 3}
    return [a.array(d, d), data, indices, starts, np.abs(a.array(r))], options


def complete(a):
    n, d, rank = a.size(), a.size(), a.size(30)
    rows = a.array(n, d, dtype=a.dtype())
    rows[a.rng.random(rows.shape) < a.rng.random()] = np.nan
    options = {flag: bool(a.rng.integers(2)) for flag in ("variances", "likelihood")}
    options["weights"] = None if a.rng.integers(2) else np.abs(a.array(n))
    options["covariance"] = None if a.rng.integers(2) else a.array(d, d)
    return [
        rows,
        a.array(d),
        a.array(d, rank),
        np.abs(a.array(d)) + (a.rng.random() < 0.9),
    ], options


def centre(a):
    r, d = a.size(), a.size()
    rows = a.array(r, d, dtype=a.dtype())
    return [rows, np.abs(a.array(r)) + 1.0, a.array(d), float(a.rng.choice([0.0, 1.0, 1e300]))], {}


def map_spectrum(a):
    d = max(a.size(40), 1)
    values = np.sort(a.array(int(a.rng.integers(0, d + 1))))[::-1].copy()
    return [a.rule(d), values, float(a.rng.choice([0.0, 0.3, -1e300])), d], {}


def rule(a):
    memory = np.abs(a.array(3)).tolist() if a.rng.random() < 0.9 else [a.size()] * a.size()
    options = {"max_rank": a.size(), "exact_trace": bool(a.rng.integers(2)), "memory": memory}
    return [str(a.rng.choice(RULES)), a.size()], options


def use_isa(a):
    return [str(a.rng.choice([*_core.supported_isas(), "", "x86-64-v9", "\0"]))], {}


CALLED = (
    advance, advance_gram, add_outer, measure, add_sparse_outer, complete, centre, map_spectrum,
)  # fmt: skip
BINDINGS = {f.__name__: f for f in CALLED} | {"Rule": rule, "use_isa": use_isa}


def fuzz(name, calls, seed):
    """Return how many calls had a result."""
    a, results = Arguments(np.random.default_rng(seed)), 0
    function = getattr(_core, name)
    for _ in range(calls):
        arguments, options = BINDINGS[name](a)
        if a.rng.random() < SPOILED:
            place = int(a.rng.integers(len(arguments) + len(options)))
            if place < len(arguments):
                arguments[place] = a.spoil(arguments[place])
            else:
                option = list(options)[place - len(arguments)]
                options[option] = a.spoil(options[option])
        try:
            function(*arguments, **options)
        except PROMISED:
            continue
        results += 1
    return results


if __name__ == "__main__":
    print(fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
