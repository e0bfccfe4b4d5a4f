"""Moves of a few vectors in the small space: split a row, rotate a basis, add up iterates.

Arrays of the small space hold one vector per row. A block's rows enter the frame one after the
other, so only the first `width` coordinates of anything can be non-zero at a given row; every
function takes that width and leaves the rest alone, but for what is left of its last vector: there
have to be columns for that, and zeros in them.
"""

import numpy as np

from onepass.kernels.compiling import jit
from onepass.kernels.vectors import LANES, fma, load, spread, store, total

# A residual below this share of the row is rounding: the row lies in the span.
IN_SPAN = 1e-14
# A round of orthogonalisation that leaves less than this share is not the last.
LITTLE = 0.1
BLAS_SIZE = 20  # directions from which on a product is worth a call


@jit
def split(basis, rank, rows, t, width, inside):
    """Write row t as basis' inside + r * outside, with a unit vector; return r, 0 if in the span.

    The unit vector becomes row number `rank` of the basis. This is lines 1 and 2 of Algorithm 1.
    A round of orthogonalisation leaves an error of the size of what was taken away, so it is
    repeated when little is left.
    """
    for i in range(rank):
        inside[i] = 0.0
    for c in range(0, width, LANES):
        store(basis, rank, c, load(rows, t, c))
    length = before = norm(rows, t, width)
    for _ in range(3):
        _take_away(basis, rank, width, inside)
        residual = norm(basis, rank, width)
        if residual <= IN_SPAN * length:
            return 0.0
        if residual > LITTLE * before:
            break
        before = residual
    for c in range(0, width, LANES):
        store(basis, rank, c, load(basis, rank, c) / residual)
    return residual


@jit
def _take_away(basis, rank, width, inside):
    """Take the part along the basis away from the row after it, four directions at a time."""
    fours = rank - rank % 4
    for i in range(0, fours, 4):
        x, y, z, w = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for c in range(0, width, LANES):
            row = load(basis, rank, c)
            x, y = fma(load(basis, i, c), row, x), fma(load(basis, i + 1, c), row, y)
            z, w = fma(load(basis, i + 2, c), row, z), fma(load(basis, i + 3, c), row, w)
        a, b, e, f = total(x), total(y), total(z), total(w)
        for c in range(0, width, LANES):
            first = fma(-a, load(basis, i, c), fma(-b, load(basis, i + 1, c), load(basis, rank, c)))
            rest = fma(-e, load(basis, i + 2, c), fma(-f, load(basis, i + 3, c), first))
            store(basis, rank, c, rest)
        inside[i] += a
        inside[i + 1] += b
        inside[i + 2] += e
        inside[i + 3] += f
    for i in range(fours, rank):
        a = dot(basis, i, basis, rank, width)
        for c in range(0, width, LANES):
            store(basis, rank, c, fma(-a, load(basis, i, c), load(basis, rank, c)))
        inside[i] += a


@jit
def norm(vectors, i, width):
    """Return the Euclidean norm of vector number i, also where squares leave the range."""
    plain = np.sqrt(dot(vectors, i, vectors, i, width))
    if 1e-100 < plain < 1e100:
        return plain
    scale, squares = 0.0, 0.0
    for c in range(width):
        scale = max(scale, abs(vectors[i, c]))
    if scale == 0.0:
        return 0.0
    for c in range(width):
        squares += (vectors[i, c] / scale) ** 2
    return scale * np.sqrt(squares)


@jit
def dot(left, i, right, j, width):
    """Return the inner product of the vectors number i and j."""
    products = spread(0.0)
    for c in range(0, width, LANES):
        products = fma(load(left, i, c), load(right, j, c), products)
    return total(products)


@jit
def rotate(vectors, kept, size, basis, width, scratch):
    """Set basis[:kept] = vectors[:kept, :size] @ basis[:size] on the first `width` columns.

    BLAS is quicker with many directions; it takes all columns, since beyond `width` there are only
    zeros.
    """
    if size > BLAS_SIZE:
        basis[:kept] = np.dot(np.ascontiguousarray(vectors[:kept, :size]), basis[:size])
        return
    for c in range(0, width, LANES):
        combine_at(c, vectors, kept, 0, basis, 0, size, scratch, 0, 0)
        for i in range(kept):
            store(basis, i, c, load(scratch, i, 0))


@jit
def combine_at(c, turn, kept, first, basis, start, stop, out, begin, to):
    """Write turn[:kept, first:] @ basis[start:stop, c:] for the vector at column c.

    It goes into the rows of `out` from `begin` on, at column `to`. Four results share what is read.
    """
    fours = kept - kept % 4
    for i in range(0, fours, 4):
        x, y, z, w = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for j in range(stop - start):
            row = load(basis, start + j, c)
            x, y = fma(turn[i, first + j], row, x), fma(turn[i + 1, first + j], row, y)
            z, w = fma(turn[i + 2, first + j], row, z), fma(turn[i + 3, first + j], row, w)
        store(out, begin + i, to, x)
        store(out, begin + i + 1, to, y)
        store(out, begin + i + 2, to, z)
        store(out, begin + i + 3, to, w)
    for i in range(fours, kept):
        x = spread(0.0)
        for j in range(stop - start):
            x = fma(turn[i, first + j], load(basis, start + j, c), x)
        store(out, begin + i, to, x)


@jit
def turn(basis, rank, inside, angle, width):
    """Turn the basis by an angle in the plane of p = basis' inside and the unit vector after it.

    p/|p| goes to cos(angle) p/|p| + sin(angle) basis[rank]; what is orthogonal to p stays.
    """
    length = np.sqrt(energy(inside, rank))
    if length > 0.0 and angle != 0.0:
        cosine, sine = np.cos(angle), np.sin(angle)
        for i in range(rank):
            inside[i] /= length
        for c in range(0, width, LANES):
            toward = spread(0.0)
            for i in range(rank):
                toward = fma(inside[i], load(basis, i, c), toward)
            change = (cosine - 1.0) * toward + sine * load(basis, rank, c)
            for i in range(rank):
                store(basis, i, c, fma(inside[i], change, load(basis, i, c)))


@jit
def extend(weights, rank, rest, inside, residual, step):
    """Make weights and z = sqrt(step) [inside; residual] ready for the rank-one update.

    The unit residual, which is in its place, joins the basis with the weight of the complement,
    unless the row lies in the span. Returns the number of directions; z replaces `inside`.
    """
    size = rank
    if residual > 0.0:
        weights[rank] = rest
        inside[rank] = residual
        size = rank + 1
    root = np.sqrt(step)
    for i in range(size):
        inside[i] *= root
    return size


@jit
def add_iterate(total, basis, weights, rank, rest, width):
    """Add basis' diag(weights - rest) basis to the upper triangle of `total`, if not empty."""
    if total.size:
        for i in range(rank):
            weight = weights[i] - rest
            for c in range(width):
                part = weight * basis[i, c]
                if part != 0.0:
                    for e in range(c, width):
                        total[c, e] += part * basis[i, e]


@jit
def energy(coordinates, count):
    """Return the sum of squares of coordinates[:count]."""
    total = 0.0
    for i in range(count):
        total += coordinates[i] * coordinates[i]
    return total
