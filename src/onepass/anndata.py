"""PCA of AnnData objects, with the arguments of ``scanpy.pp.pca`` and results in its places.

Write ``onepass.anndata.pca(adata)``: the full name does not hide the library ``anndata``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onepass.estimators.pca import PCA
from onepass.sources import ArraySource
from onepass.sources.single_cells import AnnDataSource

__all__ = ["pca"]

MOST_COMPONENTS = 50  # if their number is not given, as in scanpy


Mask = str | Sequence[str] | NDArray[np.bool_] | None


def pca(
    adata: Any,
    n_comps: int | None = None,
    *,
    layer: str | None = None,
    obsm: str | None = None,
    zero_center: bool = True,
    svd_solver: str | None = None,
    random_state: Any = 0,
    return_info: bool = False,
    mask_var: Mask | EllipsisType = ...,
    dtype: DTypeLike = "float32",
    key_added: str | None = None,
    copy: bool = False,
    scale: bool = False,
    robust: bool = False,
) -> Any:
    """Learn principal components of cells, and write them into the object as scanpy does.

    The object may be in memory or backed by a file. It is read in blocks, twice: to learn, and to
    transform. A backed object changes in memory; ``adata.write_h5ad`` with another name saves it.

    Parameters
    ----------
    adata : anndata.AnnData, array or sparse matrix of n cells and d genes
        Prepared: usually normalized and with logarithms taken.
    n_comps : int, optional
        How many components; by default 50, or one less than the smaller one of n and d.
    layer : str, optional
        The layer to use instead of ``X``.
    obsm : str, optional
        The entry of ``adata.obsm`` to use instead of ``X``.
    zero_center : bool
        Whether to subtract the means of the genes.
    svd_solver, random_state
        Accepted and without effect: there is one solver, and nothing is random.
    return_info : bool
        For an array: whether to return components and variances as well.
    mask_var : str, sequence of str, array of bool or None, optional
        The genes to use: the name of a column of booleans in ``adata.var``, names of genes, or a
        mask; None uses all genes. By default the column "highly_variable" is used if there is one.
    dtype : dtype
        The type of the coordinates.
    key_added : str, optional
        The name of the results in ``obsm``, ``varm`` and ``uns``, instead of "X_pca", "PCs" and
        "pca".
    copy : bool
        Whether to change and return a copy of the object.
    scale : bool
        Standardise the genes.
    robust : bool
        As for `onepass.PCA`.

    Returns
    -------
    PCA, AnnData, or ndarray of shape (n, n_comps)
        The model; with `copy` the changed copy. For an array the coordinates, and with
        `return_info` a tuple of coordinates, components (n_comps, d), shares of the variance and
        variances. The object gets

        - ``adata.obsm["X_pca"]``: coordinates of the cells, shape (n_obs, n_comps);
        - ``adata.varm["PCs"]``: components, shape (n_vars, n_comps), zeros for genes left out, or
          with `obsm` ``adata.uns["pca"]["components"]``;
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
    is_object = hasattr(adata, "obsm")
    if copy and is_object:
        adata = adata.copy()
    mask, given = _mask(adata, mask_var, obsm) if is_object else (None, None)
    if not is_object or obsm is not None:
        source: Any = ArraySource(adata.obsm[obsm] if is_object else adata)
    else:
        source = AnnDataSource(adata, layer, mask)
    most = min(source.n_features, source.n_rows) - 1
    n_comps = min(MOST_COMPONENTS, most) if n_comps is None else n_comps
    if not 1 <= n_comps <= most:
        raise ValueError(
            f"n_comps={n_comps} must be between 1 and {most}, one less than the smaller one of "
            f"{source.n_rows} cells and {source.n_features} genes"
        )
    model = PCA(n_comps, center=zero_center, scale=scale, robust=robust).fit(source)
    coordinates = np.asarray(model.transform(source), dtype=dtype)
    components = model.components_
    variances, shares = model.explained_variance_, model.explained_variance_ratio_
    if not is_object:
        return (coordinates, components, shares, variances) if return_info else coordinates
    params: dict[str, Any] = {
        "zero_center": zero_center,
        "use_highly_variable": isinstance(given, str) and given == "highly_variable",
        "mask_var": given,
    }
    options = {"layer": layer, "obsm": obsm, "scale": scale or None, "robust": robust or None}
    params |= {name: value for name, value in options.items() if value is not None}
    found: dict[str, Any] = {"params": params, "variance": variances, "variance_ratio": shares}
    in_obsm, in_varm, in_uns = [key_added] * 3 if key_added else ["X_pca", "PCs", "pca"]
    adata.obsm[in_obsm] = coordinates
    if obsm is None:
        every = np.zeros((adata.n_vars, len(components)), components.dtype)
        every[slice(None) if mask is None else mask] = components.T
        adata.varm[in_varm] = every
    else:
        found["components"] = components
    adata.uns[in_uns] = found
    return adata if copy else model


def _mask(
    adata: Any, mask_var: Mask | EllipsisType, obsm: str | None
) -> tuple[NDArray[np.bool_] | None, str | NDArray[np.bool_] | None]:
    """Return the genes that are meant, shape (n_vars,), and what to remember of them."""
    if mask_var is ...:
        is_there = obsm is None and "highly_variable" in adata.var
        mask_var = "highly_variable" if is_there else None
    if mask_var is None:
        return None, None
    if obsm is not None:
        raise ValueError("mask_var chooses genes, and obsm has none: pass one of them")
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
            given = np.asarray(adata.var_names.isin(given.tolist()))
    if given.dtype != bool or given.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var has values of type {given.dtype} and shape {given.shape}, not bool and "
            f"{(adata.n_vars,)}"
        )
    return given, mask_var if isinstance(mask_var, str) else given
