"""Rows written to a file of every format."""

import gzip

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse
import zarr


def arrow_table(rows, names=None):
    names = names or [f"c{j}" for j in range(rows.shape[1])]
    return pa.table([pa.array(column) for column in rows.T], names=names)


def csv_text(rows, names=None):
    lines = [",".join(map(repr, row)) for row in rows.astype(np.float64).tolist()]
    return "\n".join(([",".join(names)] if names else []) + lines) + "\n"


def write_csv(path, rows):
    path.write_text(csv_text(rows, [f"c{j}" for j in range(rows.shape[1])]))


def write_csv_gz(path, rows):
    with gzip.open(path, "wt") as file:
        file.write(csv_text(rows))


def write_arrow(path, rows):
    table = arrow_table(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)


def write_arrow_stream(path, rows):
    table = arrow_table(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=11)


def _chunks(rows):
    return {"chunks": (5, 2), "compression": "gzip"} if len(rows) else {}


def write_h5(path, rows):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/rows", data=rows, **_chunks(rows))
        file["label"] = np.arange(len(rows))


def write_zarr(path, rows):
    array = zarr.create_array(path, shape=rows.shape, dtype=rows.dtype, chunks=(7, 2))
    array[:] = rows


def write_zarr_group(path, rows):
    group = zarr.create_group(path)
    group.create_array("rows", shape=rows.shape, dtype=rows.dtype)[:] = rows
    group.create_array("label", shape=(3,), dtype="f8")[:] = 0


def write_svmlight(path, rows, base=1):
    lines = []
    for i, row in enumerate(rows.astype(np.float64).tolist()):
        entries = [f"{j + base}:{value!r}" for j, value in enumerate(row) if value or j == 0]
        lines.append(" ".join([str(i % 3), *entries]))
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "a.npy": np.save,
    "fortran.npy": lambda path, rows: np.save(path, np.asfortranarray(rows)),
    "a.npz": lambda path, rows: np.savez(path, rows, label=np.arange(len(rows))),
    "deflated.npz": lambda path, rows: np.savez_compressed(path, rows=rows),
    "fortran.npz": lambda path, rows: np.savez_compressed(path, np.asfortranarray(rows)),
    "sparse.npz": lambda path, rows: scipy.sparse.save_npz(path, scipy.sparse.csr_array(rows)),
    "plain-sparse.npz": lambda path, rows: np.savez(
        path,
        **{key: getattr(scipy.sparse.csr_matrix(rows), key) for key in ("data", "indices")},
        indptr=scipy.sparse.csr_matrix(rows).indptr,
        shape=rows.shape,
    ),
    "a.csv": write_csv,
    "a.csv.gz": write_csv_gz,
    "a.parquet": lambda path, rows: pa.parquet.write_table(
        arrow_table(rows), path, row_group_size=9
    ),
    "a.arrow": write_arrow,
    "stream.arrow": write_arrow_stream,
    "a.feather": lambda path, rows: pa.feather.write_feather(arrow_table(rows), str(path)),
    "a.h5": write_h5,
    "a.zarr": write_zarr,
    "group.zarr": write_zarr_group,
    "a.svmlight": write_svmlight,
    "zero.svmlight": lambda path, rows: write_svmlight(path, rows, base=0),
}
