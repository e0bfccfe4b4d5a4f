// Moves of a few vectors: split a row, rotate a basis. Vectors are rows, padded with zeros to whole
// registers. The rows of a block enter its frame one after the other, so only the first `width`
// coordinates of anything can be different from zero; the others are left alone.
#pragma once
#include "blas.hpp"
#include "vec.hpp"

namespace {

constexpr double IN_SPAN = 1e-14;  // a smaller share of a row is rounding: the row is in the span
constexpr double LITTLE = 0.1;     // if a round leaves less than this share, one more is needed
constexpr Index BLAS_ROWS = 20;    // directions from which on a product is worth a call

inline double dot(const double* x, const double* y, Index width) {
    vec products{};
    for (Index c = 0; c < width; c += LANES) products += load(x + c) * load(y + c);
    return total(products);
}

// The Euclidean norm, also where squares leave the floating-point range.
inline double norm(const double* x, Index width) {
    const double plain = sqrt(dot(x, x, width));
    if (1e-100 < plain && plain < 1e100) return plain;
    double scale = 0.0, squares = 0.0;
    for (Index c = 0; c < width; c++) scale = max(scale, fabs(x[c]));
    if (scale == 0.0) return plain;  // 0 or NaN
    for (Index c = 0; c < width; c++) squares = fused(x[c] / scale, x[c] / scale, squares);
    return scale * sqrt(squares);
}

// The vectors that a block works with: rows of `data`, of which the first `rank` are orthonormal.
struct Basis {
    double* data;
    Index stride, rank, width;

    double* row(Index i) const { return data + i * stride; }
};

// Takes the part along H directions away from a row.
template <int H>
inline void subtract_along(const double* directions, Index stride, Index width, double* row,
                           double* inside) {
    vec sums[H] = {};
    for (Index c = 0; c < width; c += LANES) {
        const vec x = load(row + c);
#pragma GCC unroll 4
        for (int i = 0; i < H; i++) sums[i] += load(directions + i * stride + c) * x;
    }
    double along[H];
    for (int i = 0; i < H; i++) inside[i] += along[i] = total(sums[i]);
    for (Index c = 0; c < width; c += LANES) {
        vec x = load(row + c);
#pragma GCC unroll 4
        for (int i = 0; i < H; i++) x -= along[i] * load(directions + i * stride + c);
        store(row + c, x);
    }
}

// Writes a row as U' inside + r q with a unit vector q, which becomes row number `rank` of the
// basis; returns r, or 0 if the row is in the span. Lines 1 and 2 of Algorithm 1. A round of
// orthogonalisation leaves an error of the size of what was taken away: where little is left there
// is another one.
inline double split(const Basis& U, const double* row, double* inside) {
    double* rest = U.row(U.rank);
    for (Index i = 0; i < U.rank; i++) inside[i] = 0.0;
    for (Index c = 0; c < U.width; c += LANES) store(rest + c, load(row + c));
    const double length = norm(row, U.width);
    double before = length, residual = 0.0;
    for (int round = 0; round < 3; round++) {
        Index i = 0;
        for (; i + 4 <= U.rank; i += 4)
            subtract_along<4>(U.row(i), U.stride, U.width, rest, inside + i);
        for (; i < U.rank; i++) subtract_along<1>(U.row(i), U.stride, U.width, rest, inside + i);
        residual = norm(rest, U.width);
        if (residual <= IN_SPAN * length) return 0.0;
        if (residual > LITTLE * before) break;
        before = residual;
    }
    for (Index c = 0; c < U.width; c += LANES) store(rest + c, load(rest + c) / residual);
    return residual;
}

template <int H>
inline void rotate_tile(const double* rotation, Index rotation_stride, const Basis& U, Index size,
                        Index c, double* out) {
    vec sums[H] = {};
    for (Index j = 0; j < size; j++) {
        const vec row = load(U.row(j) + c);
#pragma GCC unroll 4
        for (int i = 0; i < H; i++) sums[i] += rotation[i * rotation_stride + j] * row;
    }
    for (int i = 0; i < H; i++) store(out + i * LANES, sums[i]);
}

// U[:kept] = rotation U[:size], for a matrix (kept, size). The scratch has room for `kept` rows of
// the padded width.
inline void rotate(const Matrix<const double>& rotation, const Basis& U, double* scratch) {
    const Index kept = rotation.rows, size = rotation.columns, width = padded(U.width);
    if (size > BLAS_ROWS) {
        multiply<double>(rotation, {U.data, size, width, U.stride}, {scratch, kept, width, width});
        for (Index i = 0; i < kept; i++)
            __builtin_memcpy(U.row(i), scratch + i * width, std::size_t(width) * sizeof(double));
        return;
    }
    for (Index c = 0; c < width; c += LANES) {
        Index i = 0;
        for (; i + 4 <= kept; i += 4)
            rotate_tile<4>(rotation.data + i * rotation.stride, rotation.stride, U, size, c,
                           scratch + i * LANES);
        for (; i < kept; i++)
            rotate_tile<1>(rotation.data + i * rotation.stride, rotation.stride, U, size, c,
                           scratch + i * LANES);
        for (i = 0; i < kept; i++) store(U.row(i) + c, load(scratch + i * LANES));
    }
}

// Rotates the basis by an angle in the plane of p = U' inside and the unit vector after the basis:
// p/|p| goes to cos p/|p| + sin q, and what is orthogonal to p stays. Overwrites `inside`.
inline void rotate_towards(const Basis& U, double* inside, double length, double angle) {
    if (!(length > 0.0) || angle == 0.0) return;
    const double cosine = cos(angle), sine = sin(angle);
    for (Index i = 0; i < U.rank; i++) inside[i] /= length;
    for (Index c = 0; c < U.width; c += LANES) {
        vec along{};
        for (Index i = 0; i < U.rank; i++) along += inside[i] * load(U.row(i) + c);
        const vec change = (cosine - 1.0) * along + sine * load(U.row(U.rank) + c);
        for (Index i = 0; i < U.rank; i++)
            store(U.row(i) + c, load(U.row(i) + c) + inside[i] * change);
    }
}

}  // namespace
