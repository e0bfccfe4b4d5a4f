"""PCA of AnnData objects, with the results where scanpy and its friends look for them.

Write ``onepass.anndata.pca(adata)``: the full name does not hide the library ``anndata``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onepass.estimators.pca import PCA
from onepass.sources.single_cells import AnnDataSource

__all__ = ["pca"]


def pca(
    adata: Any,
    n_comps: int = 50,
    *,
    layer: str | None = None,
    mask_var: str | Sequence[str] | NDArray[np.bool_] | Literal[False] | None = None,
    scale: bool = False,
    robust: bool = False,
) -> PCA:
    """Learn principal components of cells, and write them into the object as scanpy does.

    The object may be in memory or backed by a file. It is read in blocks, twice: to learn, and to
    transform. A backed object changes in memory; ``adata.write_h5ad`` with another name saves it.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells by genes, prepared: usually normalized and with logarithms taken.
    n_comps : int
        How many components.
    layer : str, optional
        The layer to use instead of ``X``.
    mask_var : str, sequence of str, array of bool, False, or None
        The genes to use: the name of a column of booleans in ``adata.var``, names of genes, or a
        mask. None uses the column "highly_variable" where it exists, False uses all genes.
    scale : bool
        Standardise the genes.
    robust : bool
        As for `onepass.PCA`.

    Returns
    -------
    PCA
        The model. It is written into the object as

        - ``adata.obsm["X_pca"]``: coordinates of the cells, shape (n_obs, n_comps), float32;
        - ``adata.varm["PCs"]``: components, shape (n_vars, n_comps), zeros for genes left out;
        - ``adata.uns["pca"]``: ``variance`` and ``variance_ratio`` of the components, and
          ``params``.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> import onepass.anndata
    >>> counts = np.random.default_rng(0).poisson(1.0, size=(100, 20)).astype(np.float32)
    >>> adata = anndata.AnnData(np.log1p(counts))
    >>> model = onepass.anndata.pca(adata, n_comps=5)
    >>> adata.obsm["X_pca"].shape, adata.varm["PCs"].shape
    ((100, 5), (20, 5))
    """
    if mask_var is None and "highly_variable" in adata.var:
        mask_var = "highly_variable"
    mask = None if mask_var is None or mask_var is False else _mask(adata, mask_var)
    source = AnnDataSource(adata, layer, mask)
    model = PCA(n_comps, scale=scale, robust=robust).fit(source)
    components = np.zeros((adata.n_vars, model.components_.shape[0]), model.components_.dtype)
    components[slice(None) if mask is None else mask] = model.components_.T
    params = {
        "zero_center": True,
        "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable",
        "mask_var": mask_var if isinstance(mask_var, str) else mask,
        "layer": layer,
        "scale": scale,
        "robust": robust,
    }
    adata.obsm["X_pca"] = np.asarray(model.transform(source), dtype=np.float32)
    adata.varm["PCs"] = components
    adata.uns["pca"] = {
        # A file cannot hold what is None.
        "params": {name: value for name, value in params.items() if value is not None},
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
    }
    return model


def _mask(adata: Any, mask_var: str | Sequence[str] | NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the genes that are meant, as an array of bool of shape (n_vars,)."""
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            listed = ", ".join(map(repr, adata.var.columns)) or "no columns"
            raise ValueError(f"mask_var={mask_var!r}: adata.var has {listed}")
        given = adata.var[mask_var].to_numpy()
    else:
        given = np.asarray(mask_var)
        if given.dtype.kind in "UOT":
            unknown = sorted(set(given.tolist()) - set(adata.var_names))
            if unknown:
                raise ValueError(f"mask_var has {unknown[0]!r}, and there is no gene of this name")
            return np.asarray(adata.var_names.isin(given.tolist()))
    if given.dtype != bool or given.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var has values of type {given.dtype} and shape {given.shape}, not bool and "
            f"{(adata.n_vars,)}"
        )
    return given
