"""What a synthetic distribution is, and the source that draws from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onepass.sources.base import Position, Source
from onepass.subspace import Subspace

CHUNK_ROWS = 1024


class Distribution(ABC):
    """A distribution of rows in d dimensions whose second moment is known exactly.

    Attributes
    ----------
    d : int
        The dimension.
    """

    d: int

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n independent rows as an (n, d) array."""

    @abstractmethod
    def second_moment(self) -> Subspace:
        """Return E[x x'] as its eigenvectors and eigenvalues; ``.to_dense()`` gives d x d."""

    def optimum(self, k: int) -> float:
        """Return the largest variance that k directions can capture: the sum of k eigenvalues."""
        moment = self.second_moment()
        complement = np.full(self.d - moment.rank, moment.rest)
        eigenvalues = np.sort(np.concatenate([moment.weights, complement]))
        return float(eigenvalues[::-1][:k].sum())

    def stream(self, n_rows: int, *, seed: int = 0, block_rows: int = CHUNK_ROWS) -> Source:
        """Return a source of n_rows rows, the same at every iteration.

        Parameters
        ----------
        n_rows : int
            The number of rows.
        seed : int
            The rows depend on it and on nothing else: another `block_rows` or a start in the
            middle gives the same rows.
        block_rows : int
            Rows per block; the last one may be shorter.
        """
        return _Stream(self, n_rows, seed, block_rows)


class _Stream(Source):
    """Rows drawn in chunks with one generator each, so that any row can be reached directly."""

    feature_names = None

    def __init__(self, distribution: Distribution, n_rows: int, seed: int, block_rows: int) -> None:
        if n_rows < 1 or block_rows < 1:
            raise ValueError(f"n_rows={n_rows} and block_rows={block_rows} must be at least 1")
        self.distribution = distribution
        self.seed = seed
        self.block_rows = block_rows
        self.n_rows = n_rows
        self.n_features = distribution.d

    def blocks(
        self, start: Position | None = None
    ) -> Iterator[tuple[Position, NDArray[np.float64]]]:
        """Yield (position after the block, block)."""
        row = self.first_row(start)
        assert self.n_rows is not None
        ready = np.empty((0, self.n_features))
        drawn = row - row % CHUNK_ROWS
        while row < self.n_rows:
            stop = min(row + self.block_rows, self.n_rows)
            pieces = [ready]
            while drawn < stop:
                rng = np.random.default_rng([self.seed, drawn // CHUNK_ROWS])
                chunk = self.distribution.sample(CHUNK_ROWS, rng)
                pieces.append(chunk[max(row - drawn, 0) :])
                drawn += CHUNK_ROWS
            rows = np.concatenate(pieces)
            # A copy, so that a block never shares memory with rows that are still to come.
            block, ready = rows[: stop - row].copy(), rows[stop - row :]
            row = stop
            yield Position(0, row), block
