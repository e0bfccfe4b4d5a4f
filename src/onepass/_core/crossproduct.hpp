// The upper triangle of A' A for a small matrix A (count, stride), by tiles that stay in registers.
#pragma once
#include "vec.hpp"

namespace {

constexpr Index CROSS_ROWS = 4;             // of a tile of products
constexpr Index CROSS_COLUMNS = 2 * LANES;  // two registers in each of them

// The least multiple of the sides of a tile that is not below n: the columns of A are padded to it.
inline Index tiled(Index n) {
    const Index side = max(CROSS_ROWS, CROSS_COLUMNS);
    return (n + side - 1) / side * side;
}

// Writes CROSS_ROWS rows of A' A, from row i on, to `out` (CROSS_ROWS, stride): their columns from
// the diagonal on, and perhaps a few before it.
inline void crossproduct_rows(const double* A, Index count, Index stride, Index i, double* out) {
    for (Index j = i / CROSS_COLUMNS * CROSS_COLUMNS; j < stride; j += CROSS_COLUMNS) {
        vec left[CROSS_ROWS] = {}, right[CROSS_ROWS] = {};
        for (Index p = 0; p < count; p++) {
            const double* row = A + p * stride;
            const vec first = load(row + j), second = load(row + j + LANES);
#pragma GCC unroll 4
            for (Index t = 0; t < CROSS_ROWS; t++)
                left[t] += row[i + t] * first, right[t] += row[i + t] * second;
        }
        for (Index t = 0; t < CROSS_ROWS; t++) {
            store(out + t * stride + j, left[t]);
            store(out + t * stride + j + LANES, right[t]);
        }
    }
}

// Writes the upper triangle of A' A to `out` (stride, stride).
inline void crossproduct(const double* A, Index count, Index stride, double* out) {
    for (Index i = 0; i < stride; i += CROSS_ROWS)
        crossproduct_rows(A, count, stride, i, out + i * stride);
}

}  // namespace
