"""Moves of a few vectors in the small space: split a row, rotate a basis, add up iterates.

Arrays of the small space hold one vector per row. A block's rows enter the frame one after the
other, so only the first `width` coordinates of anything can be non-zero at a given row; every
function takes that width and leaves the rest alone.
"""

import numpy as np

from onepass.kernels.compiling import jit

# A residual below this share of the row is rounding: the row lies in the span.
IN_SPAN = 1e-14
BLAS_SIZE = 20  # directions from which on a product is worth a call


@jit
def split(basis, rank, row, width, inside, outside):
    """Write row = basis' inside + r * outside with unit `outside`; return r, 0 if in the span.

    This is lines 1 and 2 of Algorithm 1. One round of orthogonalisation leaves an error of the
    size of what was taken away, so it is repeated when little is left.
    """
    scale = 0.0
    for c in range(width):
        outside[c] = row[c]
        scale = max(scale, abs(row[c]))
    for i in range(rank):
        inside[i] = 0.0
    if scale == 0.0:
        return 0.0
    length = scaled_norm(row, width, scale)
    for i in range(rank):
        inside[i] = dot(basis[i], row, width)
    _subtract(basis, rank, inside, outside, width)
    left, before = scaled_norm(outside, width, scale), length
    for _ in range(2):
        if left <= IN_SPAN * length:
            return 0.0
        if left > 0.5 * before:
            break
        for i in range(rank):
            part = dot(basis[i], outside, width)
            inside[i] += part
            for c in range(width):
                outside[c] -= part * basis[i, c]
        left, before = scaled_norm(outside, width, scale), left
    if left <= IN_SPAN * length:
        return 0.0
    for c in range(width):
        outside[c] /= left
    return left


@jit
def _subtract(basis, rank, part, vector, width):
    """Subtract basis[:rank]' part from vector, four rows at a time."""
    fours = rank - rank % 4
    for i in range(0, fours, 4):
        x, y, z, w = part[i], part[i + 1], part[i + 2], part[i + 3]
        for c in range(width):
            vector[c] -= (x * basis[i, c] + y * basis[i + 1, c]) + (
                z * basis[i + 2, c] + w * basis[i + 3, c]
            )
    for i in range(fours, rank):
        x = part[i]
        for c in range(width):
            vector[c] -= x * basis[i, c]


@jit
def scaled_norm(vector, width, scale):
    """Return the Euclidean norm of vector[:width], whose entries are at most about `scale`."""
    if 1e-100 < scale < 1e100:  # squares cannot leave the range
        return np.sqrt(dot(vector, vector, width))
    total = 0.0
    for c in range(width):
        entry = vector[c] / scale
        total += entry * entry
    return scale * np.sqrt(total)


@jit
def dot(left, right, width):
    """Return the inner product of the first `width` entries, in four sums side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = width - width % 4
    for i in range(0, whole, 4):
        a += left[i] * right[i]
        b += left[i + 1] * right[i + 1]
        c += left[i + 2] * right[i + 2]
        d += left[i + 3] * right[i + 3]
    for i in range(whole, width):
        a += left[i] * right[i]
    return (a + b) + (c + d)


@jit
def rotate(vectors, kept, size, basis, width, scratch):
    """Set basis[:kept] = vectors[:kept, :size] @ basis[:size] on the first `width` columns.

    Four rows of the basis at a time: what is written is then read less often. BLAS is quicker with
    many; it takes all columns, since beyond `width` there are only zeros.
    """
    if size > BLAS_SIZE:
        basis[:kept] = np.dot(np.ascontiguousarray(vectors[:kept, :size]), basis[:size])
        return
    first = size % 4
    for i in range(kept):
        u, v, w = vectors[i, 0], vectors[i, min(1, size - 1)], vectors[i, min(2, size - 1)]
        if first == 0:
            for c in range(width):
                scratch[i, c] = 0.0
        elif first == 1:
            for c in range(width):
                scratch[i, c] = u * basis[0, c]
        elif first == 2:
            for c in range(width):
                scratch[i, c] = u * basis[0, c] + v * basis[1, c]
        else:
            for c in range(width):
                scratch[i, c] = u * basis[0, c] + v * basis[1, c] + w * basis[2, c]
        for j in range(first, size, 4):
            u, v, w, x = vectors[i, j], vectors[i, j + 1], vectors[i, j + 2], vectors[i, j + 3]
            for c in range(width):
                scratch[i, c] += (u * basis[j, c] + v * basis[j + 1, c]) + (
                    w * basis[j + 2, c] + x * basis[j + 3, c]
                )
    for i in range(kept):
        for c in range(width):
            basis[i, c] = scratch[i, c]


@jit
def turn(basis, rank, inside, outside, angle, width):
    """Turn the basis by an angle in the plane of p = basis' inside and the unit vector `outside`.

    p/|p| goes to cos(angle) p/|p| + sin(angle) outside; what is orthogonal to p stays.
    """
    length = np.sqrt(energy(inside, rank))
    if length > 0.0 and angle != 0.0:
        cosine, sine = np.cos(angle), np.sin(angle)
        for c in range(width):
            toward = 0.0
            for i in range(rank):
                toward += inside[i] / length * basis[i, c]
            change = (cosine - 1.0) * toward + sine * outside[c]
            for i in range(rank):
                basis[i, c] += inside[i] / length * change


@jit
def extend(basis, weights, rank, rest, inside, outside, residual, step, width):
    """Make basis, weights and z = sqrt(step) [inside; residual] ready for the rank-one update.

    The unit residual joins the basis with the weight of the complement, unless the row lies in
    the span. Returns the number of directions; z replaces `inside`.
    """
    size = rank
    if residual > 0.0:
        for c in range(width):
            basis[rank, c] = outside[c]
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
