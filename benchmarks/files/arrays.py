"""Arrays in npy, npz, HDF5, Zarr and netCDF; MATLAB's HDF5 imitated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse
import xarray as xr
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

from benchmarks.files.case import Case, Writer
from benchmarks.files.rows import counts, embeddings, mostly_zeros, table, values

TYPES = ("float32", "float16", "int8", "uint8", "int16", "uint32", "int64", ">f8", ">i2", "bool")
WIDE = (1, 20_000)


def typed(kind: str) -> Any:
    """Return rows of a type."""
    if kind == "bool":
        return values() > 0
    return values().astype(kind) if "f" in kind else embeddings(150, 5, np.int8).astype(kind)


def npy(rows: Any, **options: Any) -> Writer:
    """Return the writer of an npy file."""

    def write(path: Path) -> Any:
        np.save(path, rows, **options)
        return np.load(path)

    return write


def npz(save: Callable[..., None] = np.savez, **arrays: Any) -> Writer:
    """Return the writer of an npz file; the array x is read."""

    def write(path: Path) -> Any:
        save(path, **arrays)
        return np.load(path)["x"]

    return write


def unreadable(save: Callable[[Path], Any]) -> Writer:
    """Return the writer of something that has no rows of numbers."""

    def write(path: Path) -> None:
        save(path)

    return write


def version(number: tuple[int, int]) -> Writer:
    """Return the writer of an npy file with a header of another version."""

    def write(path: Path) -> Any:
        with path.open("wb") as file:
            np.lib.format.write_array(file, values(), version=number)
        return values()

    return write


def mapped(path: Path) -> Any:
    """Write through a memory map."""
    file = np.lib.format.open_memmap(path, "w+", np.float32, (500, 7))
    file[:] = np.arange(3500).reshape(500, 7)
    return np.array(file)


STRUCTURED = np.zeros(9, [("x", float), ("y", float)])


def from_numpy() -> Iterator[Case]:
    """Yield what NumPy writes."""
    for kind in TYPES:
        yield Case("numpy", f"save: {kind}", "a.npy", npy(typed(kind)))
    for name, write in {
        "missing values": npy(values(missing=0.1)),
        "by columns": npy(np.asfortranarray(values())),
        "one row of 20,000 columns": npy(values(*WIDE)),
        "one column": npy(values(150, 1)),
        "header 2.0": version((2, 0)),
        "header 3.0": version((3, 0)),
        "a memory map": mapped,
        "mostly zeros": npy(mostly_zeros().to_numpy()),
    }.items():
        yield Case("numpy", f"save: {name}", "a.npy", write)
    zeros = mostly_zeros().to_numpy()
    for name, write in {
        "savez": npz(x=values()),
        "savez_compressed": npz(np.savez_compressed, x=values()),
        "savez_compressed, zeros": npz(np.savez_compressed, x=zeros),
        "savez_compressed, by columns": npz(np.savez_compressed, x=np.asfortranarray(values())),
        "labels beside": npz(x=values(), labels=np.arange(150)),
    }.items():
        yield Case("numpy", name, "a.npz", write)
    two = npz(x=values(), y=values(9, 2))
    yield Case("numpy", "savez, two, named", "a.npz", two, {}, "::x")
    yield Case("numpy", "savez, two", "a.npz", two, {}, "", "::", {"inside": "::x"})
    for name, rows in {
        "complex numbers": values() + 1j,
        "fields": STRUCTURED,
        "text": np.array([["a", "b"]]),
        "objects": np.array([[1, None]], object),
        "dates": np.zeros((3, 2), "datetime64[s]"),
        "three axes": np.zeros((3, 4, 5)),
        "one axis": np.zeros(7),
    }.items():
        save = unreadable(lambda path, rows=rows: np.save(path, rows))
        yield Case("numpy", f"save: {name}", "a.npy", save, {}, "", "a.npy")


def scipy_npz(matrix: Any, **options: Any) -> Writer:
    """Return the writer of a sparse matrix as npz."""

    def write(path: Path) -> Any:
        scipy.sparse.save_npz(path, matrix, **options)
        return scipy.sparse.load_npz(path).tocsr()

    return write


def from_scipy() -> Iterator[Case]:
    """Yield what SciPy writes."""
    matrix = scipy.sparse.csr_matrix(counts())
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        other = matrix.asformat(kind) if kind != "dia" else scipy.sparse.eye_array(50, format="dia")
        write = scipy_npz(other)
        if kind == "csr":
            yield Case("scipy", f"save_npz: {kind}", "a.npz", write)
        else:
            yield Case("scipy", f"save_npz: {kind}", "a.npz", write, {}, "", "csr")
    for name, write in {
        "array": scipy_npz(counts()),
        "not compressed": scipy_npz(matrix, compressed=False),
        "whole numbers": scipy_npz(matrix.astype(np.int32)),
        "bytes": scipy_npz(matrix.astype(np.uint8)),
        "float64": scipy_npz(matrix.astype(np.float64)),
        "100,000 columns": scipy_npz(counts(400, 100_000, 0.0005)),
        "empty rows": scipy_npz(counts(share=0.01)),
        "no entries but one": scipy_npz(counts(1000, 40, 0.0001)),
        "all entries": scipy_npz(counts(150, 30, 1.0)),
    }.items():
        yield Case("scipy", f"save_npz: {name}", "a.npz", write)
    mtx = unreadable(lambda path: scipy.io.mmwrite(path, counts()))
    yield Case("scipy", "mmwrite", "a.mtx", mtx, {}, "", "mtx")
    mat = unreadable(lambda path: scipy.io.savemat(path, {"x": values()}))
    yield Case("scipy", "savemat", "a.mat", mat, {}, "", "mat")


def h5(
    rows: Any = None, name: str = "x", attrs: dict[str, Any] | None = None, **options: Any
) -> Any:
    """Return the writer of one data set."""

    def write(path: Path) -> Any:
        with h5py.File(path, "w") as file:
            data = file.create_dataset(name, data=values() if rows is None else rows, **options)
            data.attrs.update(attrs or {})
        with h5py.File(path) as file:  # some filters round
            return file[name][()]

    return write


CHUNKS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "chunks of a row": {"chunks": (1, 5)},
    "chunks of a column": {"chunks": (150, 1)},
    "one chunk": {"chunks": (150, 5)},
    "chunks past the end": {"chunks": (64, 3)},
    "gzip": {"compression": "gzip"},
    "gzip 9, shuffled, checked": {"compression": 9, "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "three digits kept": {"scaleoffset": 3},
    "may grow": {"maxshape": (None, 5)},
    "deep inside": {"name": "a/b/c"},
}


def filled(path: Path) -> Any:
    """Write a data set of which only some rows were written; the others are NaN."""
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", (100, 5), "f8", chunks=(10, 5), fillvalue=np.nan)
        data[20:40] = values(20, 5)
        return data[()]


def linked(kind: str) -> Writer:
    """Return the writer of a file that has its data set by a link."""

    def write(path: Path) -> Any:
        other = path if kind in ("soft", "hard") else path.with_name("other.bin")
        with h5py.File(other, "w") as file:
            file["hidden/data" if kind == "soft" else "data"] = values()
        with h5py.File(path, "a") as file:
            if kind == "soft":
                file["x"] = h5py.SoftLink("/hidden/data")
            elif kind == "hard":
                file["x"] = file["data"]
            elif kind == "external":
                file["x"] = h5py.ExternalLink("other.bin", "data")
            else:
                layout = h5py.VirtualLayout((150, 5), "f8")
                layout[:] = h5py.VirtualSource("other.bin", "data", (150, 5))
                file.create_virtual_dataset("x", layout)
        return values()

    return write


def raw_bytes(path: Path) -> Any:
    """Write a data set whose bytes are in another file."""
    with h5py.File(path, "w") as file:
        place = [(str(path.with_name("x.raw")), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("x", data=values(), external=place)
    return values()


def virtual_shards(path: Path) -> Any:
    """Write a virtual data set of three files."""
    layout = h5py.VirtualLayout((150, 5), "f8")
    for part in range(3):
        name = f"part{part}.bin"
        with h5py.File(path.with_name(name), "w") as file:
            file["x"] = values()[50 * part : 50 * part + 50]
        layout[50 * part : 50 * part + 50] = h5py.VirtualSource(name, "x", (50, 5))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("x", layout)
    return values()


def h5_file(fill: Callable[[h5py.File], Any], **options: Any) -> Writer:
    """Return the writer of a file that a function fills; it returns what is read."""

    def write(path: Path) -> Any:
        with h5py.File(path, "w", **options) as file:
            return fill(file)

    return write


def with_scale(file: h5py.File) -> Any:
    """Write rows with dimension scales, as netCDF4 does."""
    file["time"], file["x"] = np.arange(150.0), values()
    file["time"].make_scale("time")
    file["x"].dims[0].attach_scale(file["time"])
    return values()


def several(file: h5py.File) -> Any:
    """Write two arrays."""
    file["x"], file["y"] = values(), values(20, 3)
    return values()


def images(file: h5py.File) -> None:
    """Write pictures, as three axes."""
    file["x"] = np.zeros((10, 8, 8))


def matlab(file: h5py.File) -> Any:
    """Write a matrix of doubles as MATLAB does in version 7.3: transposed, and named a double."""
    file.create_dataset("x", data=values().T).attrs["MATLAB_class"] = np.bytes_("double")
    return values()


def packed(fill: str) -> Writer:
    """Return the writer of int16 with scale_factor, add_offset and a fill value, as netCDF does."""

    def write(path: Path) -> Any:
        stored = embeddings(150, 5, np.int8).astype(np.int16)
        stored[::7, 1] = -32768
        attrs = {"scale_factor": 0.25, "add_offset": 10.0, fill: np.int16(-32768)}
        h5(stored, attrs=attrs, chunks=True)(path)
        return np.where(stored == -32768, np.nan, stored * 0.25 + 10.0)

    return write


def missing_is(fill: str, kind: Any = np.float64) -> Writer:
    """Return the writer of numbers of which -9999 is missing."""

    def write(path: Path) -> Any:
        rows = embeddings(150, 5, np.int8).astype(kind)
        rows[::5, 2] = -9999
        h5(rows, attrs={fill: np.array([-9999], kind)})(path)
        return np.where(rows == -9999, np.nan, rows.astype(float))

    return write


def big_chunks(rows: int, step: int, **options: Any) -> Writer:
    """Return the writer of many rows of 100 numbers, mostly zeros, in chunks of `step` rows."""

    def write(path: Path) -> Any:
        full = np.zeros((rows, 100))
        full[::97, :3] = values(len(full[::97]), 3)
        return h5(full, chunks=(step, 100), **options)(path)

    return write


def plugin(name: str, **options: Any) -> Writer:
    """Return the writer of a data set that a filter of hdf5plugin compresses."""

    def write(path: Path) -> Any:
        import hdf5plugin

        return h5(chunks=(50, 5), **getattr(hdf5plugin, name)(**options))(path)

    return write


PLUGINS: dict[str, dict[str, Any]] = {
    "Blosc": {}, "Blosc2": {}, "LZ4": {}, "Zstd": {}, "Bitshuffle": {}, "BZip2": {},
 "Zfp": {"reversible": True}, "SZ3": {"absolute": 1e-3}, "Sperr": {},
}  # fmt: skip


def hdf(**options: Any) -> Writer:
    """Return the writer of DataFrame.to_hdf."""

    def write(path: Path) -> pd.DataFrame:
        table().to_hdf(path, key="df", **options)
        return pd.read_hdf(path)

    return write


def from_h5py() -> Iterator[Case]:
    """Yield what h5py and those who use it write."""
    for kind in TYPES:
        yield Case("h5py", kind, "a.h5", h5(typed(kind)))
    for name, options in CHUNKS.items():
        yield Case("h5py", name, "a.h5", h5(values(missing=0.05), **options))
    for name, write in {
        "rows never written": filled,
        "one row of 20,000 columns": h5(values(*WIDE)),
        "mostly zeros, gzip": h5(
            mostly_zeros().to_numpy(), chunks=(20_000, 20), compression="gzip"
        ),
        "chunks of 40 MB, gzip": big_chunks(200_000, 50_000, compression="gzip"),
        "chunks of 100 MB, lzf": big_chunks(150_000, 125_000, compression="lzf"),
        "one chunk of 80 MB, gzip": big_chunks(100_000, 100_000, compression="gzip"),
        "columns in chunks of 200,000": h5(
            np.zeros((200_000, 64)), chunks=(200_000, 1), compression="gzip"
        ),
        **{f"{kind} link": linked(kind) for kind in ("soft", "external", "virtual")},
        "virtual, of three files": virtual_shards,
        "bytes in another file": raw_bytes,
        "newest format": h5_file(
            lambda file: several(file["/"].create_group("g")), libver="latest"
        ),
        "user block": h5_file(
            lambda f: f.create_dataset("x", data=values())[()], userblock_size=512
        ),
        "dimension scales": h5_file(with_scale),
        "packed, _FillValue": packed("_FillValue"),
        "packed, missing_value": packed("missing_value"),
        "_FillValue": missing_is("_FillValue"),
        "missing_value": missing_is("missing_value"),
        "_FillValue of int32": missing_is("_FillValue", np.int32),
        "unrelated attributes": h5(attrs={"units": "m", "scale": "log", "version": 3}),
    }.items():
        two = name == "newest format"
        yield Case("h5py", name, "a.h5", write, {}, "::g/x" if two else "")
    yield Case("h5py", ".hdf5", "a.hdf5", h5())
    yield Case("h5py", "two links to one array", "a.h5", linked("hard"), {}, "", "::",
               {"inside": "::x"})  # fmt: skip
    two = h5_file(several)
    yield Case("h5py", "two arrays, named", "a.h5", two, {}, "::x")
    yield Case("h5py", "two arrays", "a.h5", two, {}, "", "::", {"inside": "::x"})
    for name, write in {
        "complex numbers": unreadable(h5(values() + 1j)),
        "fields": unreadable(h5(STRUCTURED)),
        "text": unreadable(h5(np.array([[b"a", b"b"]]))),
        "three axes": unreadable(h5_file(images)),
        "one axis": unreadable(h5(np.zeros(9))),
        "nothing": unreadable(h5_file(lambda file: file.create_group("g").name)),
    }.items():
        yield Case("h5py", name, "a.h5", write, {}, "", "a.h5")
    for name, options in PLUGINS.items():
        yield Case("hdf5plugin", name, "a.h5", plugin(name, **options))
    yield Case("MATLAB", "v7.3", "a.h5", h5_file(matlab, userblock_size=512))
    yield Case("MATLAB", "v7.3, .mat", "a.mat", h5_file(matlab, userblock_size=512), {}, "",
               "format", {"format": "h5"})  # fmt: skip
    for name, options in {"fixed": {}, "table": {"format": "table"}}.items():
        yield Case("pandas", f"to_hdf: {name}", "a.h5", hdf(**options), {}, "", "pandas")


def zarray(
    rows: Any = None,
    *,
    form: int = 3,
    attrs: Any = None,
    chunks: Any = (40, 5),
    **options: Any,
) -> Writer:
    """Return the writer of an array in a Zarr store of its own."""

    def write(path: Path) -> Any:
        data = values() if rows is None else rows
        array = zarr.create_array(path, data=data, chunks=chunks, zarr_format=form,
                                  attributes=attrs, **options)  # fmt: skip
        return array[:]

    return write


def part_written(form: int) -> Writer:
    """Return the writer of an array of which only some chunks were written; the others are NaN."""

    def write(path: Path) -> Any:
        array = zarr.create_array(
            path, shape=(100, 5), chunks=(10, 5), dtype="f8", fill_value=np.nan, zarr_format=form
        )
        array[20:40] = values(20, 5)
        return array[:]

    return write


def zgroup(form: int, *names: str, consolidated: bool = False) -> Writer:
    """Return the writer of a group with arrays by these names; the first one is read."""

    def write(path: Path) -> Any:
        group = zarr.create_group(path, zarr_format=form)
        for name in names:
            group.create_array(name, data=values(), chunks=(40, 5))
        group.create_array("time", data=np.arange(150))
        if consolidated:
            zarr.consolidate_metadata(path)
        return values()

    return write


def large(step: int, rows: int = 200_000, **options: Any) -> Writer:
    """Return the writer of rows of 100 numbers in chunks of `step` rows, as dask makes them."""

    def write(path: Path) -> Any:
        full = np.zeros((rows, 100))
        full[::97, :3] = values(len(full[::97]), 3)
        return zarray(full, chunks=(step, 100), **options)(path)

    return write


def from_zarr() -> Iterator[Case]:
    """Yield what zarr writes, in its formats 2 and 3."""
    layouts: dict[str, dict[str, Any]] = {
        "defaults": {},
        "missing values": {"rows": values(missing=0.1)},
        "chunks of a row": {"chunks": (1, 5)},
        "one chunk": {"chunks": (150, 5)},
        "chunks of two columns": {"chunks": (40, 2)},
        "not compressed": {"compressors": None},
        "one row of 20,000 columns": {"rows": values(*WIDE), "chunks": (1, 5000)},
        "1,500 chunks": {"rows": values(1500, 4), "chunks": (1, 4)},
        "by columns": {"order": "F"},
    }
    for form in (2, 3):
        for kind in ("float32", "int8", "uint16", ">f8", "bool"):
            yield Case("zarr", f"{form}: {kind}", "a.zarr", zarray(typed(kind), form=form))
        for name, options in layouts.items():
            if form == 3 and "order" in options:
                options = {"filters": [TransposeCodec(order=(1, 0))]}
            yield Case("zarr", f"{form}: {name}", "a.zarr", zarray(form=form, **options))
        yield Case("zarr", f"{form}: chunks not written", "a.zarr", part_written(form))
        yield Case("zarr", f"{form}: chunks of 128 MB", "a.zarr", large(160_000, form=form))
        yield Case("zarr", f"{form}: a group", "a.zarr", zgroup(form, "x"))
        together = zgroup(form, "x", consolidated=True)
        yield Case("zarr", f"{form}: consolidated", "a.zarr", together)
        two = zgroup(form, "x", "y")
        yield Case("zarr", f"{form}: two arrays", "a.zarr", two, {}, "", "::", {"inside": "::x"})
        yield Case("zarr", f"{form}: two arrays, named", "a.zarr", two, {}, "::x")
        attrs = {"scale_factor": 0.5, "add_offset": 3.0}
        scaled = zarray(typed("int16"), form=form, attrs=attrs)
        yield Case("zarr", f"{form}: packed", "a.zarr",
                   lambda path, scaled=scaled: scaled(path) * 0.5 + 3.0)  # fmt: skip
        cube = unreadable(zarray(np.zeros((4, 5, 6)), chunks=(4, 5, 6), form=form))
        yield Case("zarr", f"{form}: three axes", "a.zarr", cube, {}, "", "a.zarr")
    from numcodecs import LZ4, Blosc, Delta, FixedScaleOffset, GZip, Zstd

    for name, options in {
        "blosc": {"compressors": Blosc("lz4", shuffle=2)},
        "zstd": {"compressors": Zstd(3)},
        "gzip": {"compressors": GZip(5)},
        "lz4": {"compressors": LZ4()},
        "differences": {"rows": typed("int64"), "filters": [Delta("i8")]},
        "fixed point": {"filters": [FixedScaleOffset(0.0, 1000.0, "f8", "i4")]},
        "one folder for each axis": {
            "chunk_key_encoding": {"name": "v2", "separator": "/"}
        },
    }.items():  # fmt: skip
        yield Case("zarr", f"2: {name}", "a.zarr", zarray(form=2, **options))
    for name, options in {
        "blosc": {"compressors": BloscCodec(cname="zstd")},
        "zstd": {"compressors": ZstdCodec(level=9)},
        "gzip": {"compressors": GzipCodec()},
        "zstd, checked": {"compressors": [ZstdCodec(), Crc32cCodec()]},
        "most significant byte first": {"serializer": BytesCodec(endian="big")},
        "shards": {"chunks": (10, 5), "shards": (50, 5)},
        "shards of 128 MB": {"rows": np.zeros((170_000, 100)), "chunks": (10_000, 100),
                             "shards": (160_000, 100)},
        "one file for each axis": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    }.items():  # fmt: skip
        yield Case("zarr", f"3: {name}", "a.zarr", zarray(form=3, **options))


def weather(rows: Any = None) -> xr.Dataset:
    """Return a data set of temperatures by time and station."""
    rows = values(missing=0.1) if rows is None else rows
    times, names = pd.date_range("2024-01-01", periods=len(rows)), list("ABCDE")
    return xr.Dataset({"t": (("time", "station"), rows)}, {"time": times, "station": names})


ENCODINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "packed": {"dtype": "int16", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -32768},
    "packed, unsigned": {"dtype": "uint8", "scale_factor": 0.5, "_FillValue": 255},
    "float32 with a fill value": {"dtype": "float32", "_FillValue": -9999.0},
    "missing_value": {"dtype": "float64", "missing_value": -9999.0, "_FillValue": -9999.0},
    "no fill value": {"_FillValue": None},
}


def by_xarray(method: str, encoding: dict[str, Any], **options: Any) -> Writer:
    """Return the writer of a data set of xarray."""

    def write(path: Path) -> Any:
        made = weather(np.abs(embeddings(150, 5)) * (40 if encoding else 1))
        if encoding.get("_FillValue", 0) is not None:
            made["t"][::9, 2] = np.nan
        getattr(made, method)(path, encoding={"t": encoding}, **options)
        if method == "to_zarr":
            return xr.open_zarr(path)["t"].to_numpy()
        with xr.open_dataset(path, engine=options.get("engine")) as back:
            return back["t"].to_numpy()

    return write


def from_xarray() -> Iterator[Case]:
    """Yield what xarray and netCDF4 write."""
    for name, encoding in ENCODINGS.items():
        for form in (2, 3):
            write = by_xarray("to_zarr", encoding, zarr_format=form)
            yield Case("xarray", f"zarr {form}: {name}", "a.zarr", write, {}, "::t")
        for engine in ("h5netcdf", "netcdf4"):
            write = by_xarray("to_netcdf", encoding, engine=engine)
            yield Case(engine, f"netCDF: {name}", "a.h5", write, {}, "::t")
    for name, encoding in {"zlib": {"zlib": True}, "checked": {"fletcher32": True}}.items():
        write = by_xarray("to_netcdf", encoding, engine="netcdf4")
        yield Case("netcdf4", f"netCDF: {name}", "a.h5", write, {}, "::t")
    plain = by_xarray("to_netcdf", {}, engine="h5netcdf")
    yield Case("h5netcdf", "netCDF: array not named", "a.h5", plain)
    yield Case("h5netcdf", "netCDF: .nc", "a.nc", plain, {}, "", "format", {"format": "h5"})
    old = by_xarray("to_netcdf", {}, engine="scipy")
    yield Case("xarray", "netCDF 3", "a.nc", unreadable(old), {}, "", "nc")


def cases() -> Iterator[Case]:
    """Yield all files of arrays."""
    yield from from_numpy()
    yield from from_scipy()
    yield from from_h5py()
    yield from from_zarr()
    yield from from_xarray()
