"""``python -m benchmarks.commands``: commands on files of cells and embeddings, as whole processes.

Measured are the processor time and the largest memory of each command, imports included, and the
share of exact PCA's variance that its components lose. scikit-learn's PCA(svd_solver="arpack") of
the same matrix in memory is timed without imports and reading. scanpy, in an environment of its
own, reads the same file with pca(chunked=True), and finds neighbours in what onepass has written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA as BatchPCA

import onepass
from benchmarks import commands
from benchmarks.floor.sparse_rows import counts
from benchmarks.floor.target import Effort
from benchmarks.results import Results, Row, chosen, parser
from benchmarks.rivals.environments import Library, last_line, libraries
from benchmarks.rivals.problems import Exact
from benchmarks.rows import gaussian, power

GENES, K = 4000, 50  # of cells
WIDTH = 384  # of embeddings
ROWS_AT_ONCE = 20_000  # in which embeddings are made and written
PROGRAM = [sys.executable, "-c", "from onepass.cli.program import run; run()"]
SCANPY = """
import sys, anndata, numpy, scanpy
cells, components = sys.argv[1:]
adata = anndata.read_h5ad(cells, backed="r")
scanpy.pp.pca(adata, n_comps={k}, chunked=True)
numpy.save(components, adata.varm["PCs"].T)
"""
NEIGHBOURS = """
import sys, anndata, scanpy
adata = anndata.read_h5ad(sys.argv[1])
scanpy.pp.neighbors(adata, use_rep="X_pca")
print(adata.obsp["distances"].nnz)
"""


@dataclass(frozen=True)
class Study:
    """A row of the table: a name, and what measures it in a folder."""

    name: str
    measure: Callable[[Effort, Path], Row]


# Of a process that is started, Linux counts the memory of the one that starts it, too. So a small
# one starts it, and says what it took.
LAUNCHER = """
import json, resource, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = {"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - begin}
print(json.dumps({**seconds, "memory": used.ru_maxrss / 1e3}))  # which is in kB
sys.exit(code)
"""


def process(*words: Any) -> dict[str, float]:
    """Run a command, and return seconds of processor and wall, and the peak of memory in MB."""
    launched = [sys.executable, "-S", "-c", LAUNCHER, *(str(word) for word in words)]
    done = subprocess.run(launched, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(last_line(done.stderr))
    found: dict[str, float] = json.loads(done.stdout)
    return found


def cells(effort: Effort, folder: Path) -> Row:
    """Measure 20,000 cells of 4,000 genes, of which 8% of the entries are not zero."""
    from anndata import AnnData

    X = sparse.csr_matrix(counts(effort).astype(np.float32)[:, :GENES])
    path, model, written = (folder / name for name in ("cells.h5ad", "m.onepass", "out.h5ad"))
    AnnData(X).write_h5ad(path)
    exact = Exact(X, K)
    found: dict[str, Any] = {}
    run = process(*PROGRAM, "fit", path, "-k", K, "-o", model)
    found["fit"] = {**run, "lost": exact.lost(onepass.load(model).components_)}
    found["info"] = process(*PROGRAM, "info", model)
    found["transform"] = process(*PROGRAM, "transform", model, path, "-o", written)
    begin = time.process_time()
    BatchPCA(K, svd_solver="arpack").fit(X)
    found["scikit-learn arpack"] = {"cpu": time.process_time() - begin}
    found |= with_scanpy(path, written, exact)
    title = f"{X.shape[0]:,} x {GENES:,} counts as h5ad, k = {K}"
    return {"name": "cells", "title": title, "runs": found}


def with_scanpy(path: Path, written: Path, exact: Exact) -> dict[str, Any]:
    """Measure scanpy on the same file, and on the coordinates that onepass has written."""
    library: Library = next(library for library in libraries() if library.name == "scanpy")
    components = path.with_name("components.npy")
    runs = {
        "scanpy chunked": (SCANPY.format(k=K), path, components),
        "scanpy neighbors": (NEIGHBOURS, written),
    }
    found: dict[str, Any] = {}
    for name, words in runs.items():
        try:
            found[name] = process(library.python(), "-c", *words)
        except RuntimeError as error:
            print(f"note: {name}: {error}", file=sys.stderr)
    if "scanpy chunked" in found:
        found["scanpy chunked"]["lost"] = exact.lost(np.load(components))
    return found


def embeddings(effort: Effort, folder: Path) -> Row:
    """Measure 200,000 embeddings of 384 numbers in a column of lists."""
    import pyarrow as pa
    import pyarrow.parquet

    path, model = folder / "embeddings.parquet", folder / "m.onepass"
    n, rng = effort.rows(200_000), np.random.default_rng(effort.seed)
    schema = pa.schema([("embedding", pa.list_(pa.float32(), WIDTH))])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for begin in range(0, n, ROWS_AT_ONCE):
            rows = gaussian(min(ROWS_AT_ONCE, n - begin), power(WIDTH, 1.0), rng)
            flat = pa.array(rows.astype(np.float32).ravel())
            lists = pa.FixedSizeListArray.from_arrays(flat, WIDTH)
            writer.write_table(pa.table([lists], schema=schema))
    found = {
        "fit": process(*PROGRAM, "fit", path, "-k", 20, "--columns", "embedding", "-o", model),
        "transform": process(*PROGRAM, "transform", model, path, "-o", folder / "out.npy"),
        "report": process(*PROGRAM, "report", model, "-o", folder / "page.html"),
    }
    title = f"{n:,} embeddings of {WIDTH} float32 in a list column of parquet, k = 20"
    return {"name": "embeddings", "title": title, "runs": found}


def start(effort: Effort, folder: Path) -> Row:
    """Measure commands on a small file, of which nearly all of the time is imports."""
    path, model = folder / "a.csv", folder / "m.onepass"
    rows = gaussian(2000, power(20, 1.0), np.random.default_rng(effort.seed))
    np.savetxt(path, rows, delimiter=",", header=",".join(f"c{j}" for j in range(20)), comments="")
    commands = {
        "--version": ["--version"],
        "fit": ["fit", path, "-k", 3, "-o", model],
        "info": ["info", model],
        "score": ["score", model, path],
        "transform": ["transform", model, path, "-o", folder / "out.csv"],
    }
    found = {name: process(*PROGRAM, *words) for name, words in commands.items()}
    return {
        "name": "start",
        "title": "2,000 x 20 csv, k = 3: the start of a command",
        "runs": found,
    }


STUDIES = [Study("cells", cells), Study("embeddings", embeddings), Study("start", start)]


def main(arguments: list[str] | None = None) -> None:
    """Measure what was asked for."""
    args = parser("commands", commands.__doc__).parse_args(arguments)
    studies = chosen(STUDIES, args)
    results = Results("commands", args)
    effort = Effort(args.quick, results.seed, args.data)
    for study in studies:
        with tempfile.TemporaryDirectory() as folder:
            results.add(study.measure(effort, Path(folder)))


if __name__ == "__main__":
    main()
