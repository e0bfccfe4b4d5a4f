"""Write coordinates as an AnnData file, where scanpy looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from onepass.cli.writers import OUTLIER, Write
from onepass.extras import require
from onepass.persistence.atomic import replacing
from onepass.sources.files import FileSource

SUFFIX = ".h5ad"


def is_anndata(path: str) -> bool:
    """Return whether a path is that of an AnnData file, which needs the package."""
    if not path.lower().endswith(SUFFIX):
        return False
    require("writing h5ad files", "anndata", "anndata")
    return True


def table_of_cells(source: FileSource) -> Any:
    """Return the table `obs` of the cells in files; None if some files have no names of cells.

    A column `file` is added where there are several files. Names that occur in more than one of
    them get the number of their file, as `anndata.concat` does it.
    """
    from onepass.sources.single_cells import CellTable

    tables = [table.obs() for table in source.tables if isinstance(table, CellTable)]
    if len(tables) < len(source.tables):
        return None
    if len(tables) == 1:
        return tables[0]
    import pandas as pd

    if not pd.concat([table.index.to_series() for table in tables]).is_unique:
        for number, table in enumerate(tables):
            table.index = table.index + f"-{number}"
    for path, table in zip(source.paths, tables, strict=True):
        table["file"] = path
    return pd.concat(tables)


@contextmanager
def writing_cells(
    path: str, fitted: Any, source: FileSource, cells: Any, names: list[str], numbering: list[str]
) -> Iterator[Write]:
    """Give a function that adds rows to an AnnData file, which appears when complete.

    Coordinates and `obs` are held until then.

    Parameters
    ----------
    path : str
        The file.
    fitted : estimator
        Its components go to ``varm["PCs"]`` and their variances to ``uns["pca"]``.
    source : FileSource
        If it is a single AnnData file, everything else is copied. Genes that the model does not use
        have zeros in ``varm["PCs"]``.
    cells : DataFrame or None
        The table `obs` of all rows; None if rows have no names.
    names : list of str
        The columns of what is added: kept ones, coordinates, and "outlier" if that is wanted.
    numbering : list of str
        Those of them that say which file and line or row it is, if rows have no names.
    """
    import h5py
    import pandas as pd
    from anndata.io import write_elem

    from onepass.sources.single_cells import AnnDataTable

    parts: list[Any] = []
    (first, *others) = source.tables
    yield lambda rows: parts.append(
        pd.DataFrame(rows, columns=names) if isinstance(rows, np.ndarray) else rows.to_pandas()
    )
    obs = pd.concat(parts, ignore_index=True)
    flagged = names[-1] == OUTLIER
    stop = len(names) - flagged
    coordinates = obs.columns[stop - fitted.n_components_ : stop]
    points = obs[coordinates].to_numpy()
    obs = obs.drop(columns=coordinates)
    if flagged:
        obs[OUTLIER] = obs[OUTLIER].astype(bool)
    if cells is not None:
        obs.index = cells.index
        obs = pd.concat([cells.drop(columns=list(obs), errors="ignore"), obs], axis=1)
    else:
        texts = [obs[column].astype(str) for column in numbering]
        obs.index = pd.Index(texts[-1] if len(texts) == 1 else texts[0] + ":" + texts[1])
        obs = obs.drop(columns=numbering[-1])
    components = np.ascontiguousarray(fitted.components_.T)
    with replacing(path) as file, h5py.File(file.name, "w") as root:
        # https://anndata.readthedocs.io describes the format.
        root.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if isinstance(first, AnnDataTable) and not others:
            first.copy_to(root)
            components = first.of_all_genes(components)
        else:
            genes = pd.DataFrame(index=[str(name) for name in fitted.column_names_])
            write_elem(root, "var", genes)
        for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            if name not in root:
                write_elem(root, name, {})
        write_elem(root, "obs", obs)
        write_elem(root["obsm"], "X_pca", points)
        write_elem(root["varm"], "PCs", components)
        found = {
            "params": {"zero_center": bool(fitted.get_params().get("center", True))},
            "variance": fitted.explained_variance_,
            "variance_ratio": fitted.explained_variance_ratio_,
        }
        write_elem(root["uns"], "pca", found)
