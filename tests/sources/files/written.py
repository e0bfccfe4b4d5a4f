"""Rows written to a file of every format."""

import bz2
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


def write_csv_gz(path, rows):
    path.write_bytes(gzip.compress(csv_text(rows).encode()))


def write_delimited(delimiter, compress=bytes):
    def write(path, rows):
        names = [f"c{j}" for j in range(rows.shape[1])]
        path.write_bytes(compress(csv_text(rows, names).replace(",", delimiter).encode()))

    return write


def write_arrow(make):
    def write(path, rows):
        table = arrow_table(rows)
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=11)

    return write


def write_h5(path, rows):
    chunks = {"chunks": (5, 2), "compression": "gzip"} if len(rows) else {}
    with h5py.File(path, "w") as file:
        file.create_dataset("group/rows", data=rows, **chunks)
        file["label"] = np.arange(len(rows))


def write_zarr_group(path, rows):
    group = zarr.create_group(path)
    group.create_array("rows", data=rows)
    group.create_array("label", data=np.zeros(3))


def write_svmlight(path, rows, base=1, compress=bytes):
    lines = []
    for i, row in enumerate(rows.astype(np.float64).tolist()):
        entries = [f"{j + base}:{value!r}" for j, value in enumerate(row) if value or j == 0]
        lines.append(" ".join([str(i % 3), *entries]))
    path.write_bytes(compress("".join(f"{line}\n" for line in lines).encode()))


def write_sparse_parts(path, rows):
    matrix = scipy.sparse.csr_matrix(rows)
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(path, **parts)


TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.bz2", ".txt.zst")
SVMLIGHT = (".svmlight", ".svmlight.gz")
WRITERS = {
    "a.npy": np.save,
    "fortran.npy": lambda path, rows: np.save(path, np.asfortranarray(rows)),
    "a.npz": lambda path, rows: np.savez(path, rows, label=np.arange(len(rows))),
    "deflated.npz": lambda path, rows: np.savez_compressed(path, rows=rows),
    "fortran.npz": lambda path, rows: np.savez_compressed(path, np.asfortranarray(rows)),
    "sparse.npz": lambda path, rows: scipy.sparse.save_npz(path, scipy.sparse.csr_array(rows)),
    "plain-sparse.npz": write_sparse_parts,
    "a.csv": write_delimited(","),
    "a.csv.gz": write_csv_gz,  # without header
    "a.tsv": write_delimited("\t"),
    "a.txt": write_delimited(" "),
    "a.csv.bz2": write_delimited(";", bz2.compress),
    "a.txt.zst": write_delimited("|", lambda text: pa.Codec("zstd").compress(text, asbytes=True)),
    "a.parquet": lambda path, rows: pa.parquet.write_table(
        arrow_table(rows), path, row_group_size=9
    ),
    "a.arrow": write_arrow(pa.ipc.new_file),
    "stream.arrow": write_arrow(pa.ipc.new_stream),
    "a.feather": lambda path, rows: pa.feather.write_feather(arrow_table(rows), str(path)),
    "a.h5": write_h5,
    "a.zarr": lambda path, rows: zarr.create_array(path, data=rows, chunks=(7, 2)),
    "group.zarr": write_zarr_group,
    "a.svmlight": write_svmlight,
    "a.svmlight.gz": lambda path, rows: write_svmlight(path, rows, compress=gzip.compress),
    "zero.svmlight": lambda path, rows: write_svmlight(path, rows, base=0),
}
