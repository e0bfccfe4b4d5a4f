// Products of a few long rows, by tiles of results that stay in registers. BLAS is made for large
// matrices: it copies what it multiplies into a layout of its own, which is not worth it for a
// dozen rows, and it cannot leave out half of a symmetric product.
#pragma once
#include "api.hpp"
#include "blas.hpp"
#include "vec.hpp"

namespace {

constexpr int TILE = 4;            // rows and columns of a tile of products
constexpr int TILE_REGISTERS = 2;  // registers per row of a tile of combinations
constexpr Index GRAM_PANEL = 512;  // columns of all rows that stay in the cache
constexpr Index PREFETCH_COLUMNS = 256;

using onepass::Stack;

// out[H, W] += left[H, count] right[W, count]'
template <int H, int W, class T>
inline void add_products(const T* left, const T* right, Index d, Index count, double* out,
                         Index stride) {
    using L = Lanes<T>;
    typename L::vec sums[H][W] = {};
    for (Index c = 0; c < count; c += L::count) {
        typename L::vec others[W];
#pragma GCC unroll 4
        for (int j = 0; j < W; j++) others[j] = L::load(right + j * d + c);
#pragma GCC unroll 4
        for (int i = 0; i < H; i++) {
            const auto part = L::load(left + i * d + c);
#pragma GCC unroll 4
            for (int j = 0; j < W; j++) sums[i][j] += part * others[j];
        }
    }
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) out[i * stride + j] += L::total(sums[i][j]);
}

// out[H, number] += left[H, count] right[number, count]'
template <int H, class T>
void add_strip(const T* left, const Matrix<const T>& right, Index count, double* out,
               Index stride) {
    const Index d = right.stride, number = right.rows;
    Index j = 0;
    for (; j + TILE <= number; j += TILE)
        add_products<H, TILE>(left, right.data + j * d, d, count, out + j, stride);
    const T* rest = right.data + j * d;
    switch (number - j) {
        case 1:
            return add_products<H, 1>(left, rest, d, count, out + j, stride);
        case 2:
            return add_products<H, 2>(left, rest, d, count, out + j, stride);
        case 3:
            return add_products<H, 3>(left, rest, d, count, out + j, stride);
    }
}

// Writes the last b rows of the Gram matrix of a stack up to its diagonal (and a little beyond):
// row i of `out` (b, stride) has the products of row i with the basis, then those with rows 0..i.
template <class T>
void gram_rows(const Stack<T>& s, double* out, Index stride) {
    constexpr Index lanes = Lanes<T>::count;
    const Index m = s.m, b = s.b, d = s.d;
    for (Index i = 0; i < b; i++)
        for (Index j = 0; j < m + b; j++) out[i * stride + j] = 0.0;
    for (Index start = 0; start < d; start += GRAM_PANEL) {
        const Index count = min(GRAM_PANEL, d - start), whole = count / lanes * lanes;
        const T *u = s.basis + start, *x = s.rows + start;
        const Matrix<const T> basis{u, m, count, d};
        Index i = 0;
        for (; i + TILE <= b; i += TILE) {
            double* line = out + i * stride;
            add_strip<TILE>(x + i * d, basis, whole, line, stride);
            add_strip<TILE>(x + i * d, Matrix<const T>{x, i + TILE, count, d}, whole, line + m,
                            stride);
        }
        for (; i < b; i++) {
            double* line = out + i * stride;
            add_strip<1>(x + i * d, basis, whole, line, stride);
            add_strip<1>(x + i * d, Matrix<const T>{x, i + 1, count, d}, whole, line + m, stride);
        }
        for (Index c = whole; c < count; c++)
            for (i = 0; i < b; i++) {
                double* line = out + i * stride;
                const double entry = x[i * d + c];
                for (Index j = 0; j < m; j++) line[j] += entry * u[j * d + c];
                for (Index j = 0; j <= i; j++) line[m + j] += entry * x[j * d + c];
            }
    }
}

// out[H, W registers] = coefficients[H, m + b] stack
template <int H, int W, class T>
inline void combine_tile(const T* coefficients, const Stack<T>& s, T* __restrict out) {
    using L = Lanes<T>;
    typename L::vec sums[H][W] = {};
    const Index n = s.m + s.b;
    auto add = [&](const T* source, const T* factors) {
        typename L::vec parts[W];
#pragma GCC unroll 4
        for (int c = 0; c < W; c++) parts[c] = L::load(source + c * L::count);
#pragma GCC unroll 4
        for (int i = 0; i < H; i++)
#pragma GCC unroll 4
            for (int c = 0; c < W; c++) sums[i][c] += factors[i * n] * parts[c];
    };
    for (Index j = 0; j < s.m; j++) add(s.basis + j * s.d, coefficients + j);
    for (Index j = 0; j < s.b; j++) add(s.rows + j * s.d, coefficients + s.m + j);
    for (int i = 0; i < H; i++)
        for (int c = 0; c < W; c++) L::store(out + i * s.d + c * L::count, sums[i][c]);
}

// The columns of all k combinations that W registers hold.
template <int W, class T>
inline void combine_columns(const T* coefficients, Index k, const Stack<T>& s, T* out) {
    const Index n = s.m + s.b;
    Index i = 0;
    for (; i + TILE <= k; i += TILE) combine_tile<TILE, W>(coefficients + i * n, s, out + i * s.d);
    switch (k - i) {
        case 1:
            return combine_tile<1, W>(coefficients + i * n, s, out + i * s.d);
        case 2:
            return combine_tile<2, W>(coefficients + i * n, s, out + i * s.d);
        case 3:
            return combine_tile<3, W>(coefficients + i * n, s, out + i * s.d);
    }
}

// out[k, d] = coefficients[k, m + b] stack
template <class T>
void combine(const T* coefficients, Index k, const Stack<T>& s, T* out) {
    constexpr Index lanes = Lanes<T>::count, wide = TILE_REGISTERS * lanes;
    const Index n = s.m + s.b, d = s.d;
    auto from = [&](Index c) { return Stack<T>{s.basis + c, s.m, s.rows + c, s.b, d}; };
    Index c = 0;
    for (; c + wide <= d; c += wide) {
        // The processor does not follow so many streams by itself; a step is one cache line.
        const T *basis = s.basis + c + PREFETCH_COLUMNS, *rows = s.rows + c + PREFETCH_COLUMNS;
        for (Index j = 0; j < s.m; j++) __builtin_prefetch(basis + j * d, 0, 1);
        for (Index j = 0; j < s.b; j++) __builtin_prefetch(rows + j * d, 0, 1);
        combine_columns<TILE_REGISTERS>(coefficients, k, from(c), out + c);
    }
    for (; c + lanes <= d; c += lanes) combine_columns<1>(coefficients, k, from(c), out + c);
    for (; c < d; c++)
        for (Index i = 0; i < k; i++) {
            const T* factors = coefficients + i * n;
            double sum = 0.0;
            for (Index j = 0; j < s.m; j++) sum = fused(factors[j], s.basis[j * d + c], sum);
            for (Index j = 0; j < s.b; j++) sum = fused(factors[s.m + j], s.rows[j * d + c], sum);
            out[i * d + c] = T(sum);
        }
}

}  // namespace
