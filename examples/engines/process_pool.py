"""One model of many files with concurrent.futures: python process_pool.py model.onepass rows/*."""

import sys
from concurrent.futures import ProcessPoolExecutor

import onepass


def learn(path: str) -> bytes:
    """Return the model of one file, learned in the process that reads it."""
    return onepass.PCA(5).fit(onepass.open_source(path)).to_bytes()


def fit(paths: list[str], workers: int = 2) -> onepass.PCA:
    """Return one model of all rows: only models travel between processes."""
    with ProcessPoolExecutor(workers) as pool:
        return onepass.merge(*map(onepass.from_bytes, pool.map(learn, paths)))


if __name__ == "__main__":
    fit(sys.argv[2:]).save(sys.argv[1])
