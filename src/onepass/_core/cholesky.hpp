// Coordinates of rows in an orthonormal frame of [U; rows] that is never formed, from the Gram
// matrix: with U = L F1 and rows = A F1 + C F2 the frame is [F1; F2], and [A, C] are the coordinates.
#pragma once
#include "api.hpp"
#include "blas.hpp"
#include "vec.hpp"

namespace {

// What a row must satisfy to be taken through the Gram matrix. `usable` and `sound` are shares of
// its energy (squared norm) outside of the span of the rows before it: rounding / share is the loss
// of orthogonality, which is corrected in the next block where it is not sound.
struct Limits {
    double smallest, largest;  // energies beyond these have lost digits to under- or overflow
    double usable, sound;
};

struct Factored {
    Index count;   // rows before the first one that is not usable
    double share;  // the least share of energy outside of the rows before
};

// Replaces the lower triangle of a Gram matrix (n, n) by its factor. Its rows must not be far from
// orthonormal.
inline void factor_basis(double* gram, Index n) {
    for (Index i = 0; i < n; i++) {
        double* row = gram + i * n;
        for (Index j = 0; j <= i; j++) {
            const double* other = gram + j * n;
            double sum = row[j];
            for (Index p = 0; p < j; p++) sum = fused(-row[p], other[p], sum);
            if (j < i)
                row[j] = sum / other[j];
            else if (!(sum >= 0.01 && row[i] <= 100.0))
                throw onepass::BasisError{};
            else
                row[i] = sqrt(sum);
        }
    }
}

// The coordinates of a block. Row t is [A_t, C_t], and is zero from column m + t + 1 on.
struct Coordinates {
    double* data;  // (b, stride), before: the last rows of the Gram matrix, from gram_rows
    Index m, b, stride;
    double* inverse_diagonal;  // (b,) of C; 0 for a row of zeros, which has no direction
    double* energy;            // (b,) squared norms of the rows
    double* scratch;           // (b, b)

    // Replaces products by coordinates; the basis has the factor L (m, m), or is orthonormal if
    // that is null. Row by row, so that what comes before an unusable row can be taken.
    Factored factor(const double* L, const Limits& limits) {
        if (L) solve_triangle(Solve::right_transposed, L, m, {data, b, m, stride});
        double* __restrict left = scratch;  // what is left of each row, as an upper triangle
        for (Index j = 0; j < b; j++) {
            energy[j] = data[j * stride + m + j];
            for (Index i = 0; i <= j; i++) {
                const double *x = data + i * stride, *y = data + j * stride;
                double sum = y[m + i];
                for (Index p = 0; p < m; p++) sum = fused(-x[p], y[p], sum);
                left[i * b + j] = sum;
            }
        }
        double least = 1.0;
        for (Index i = 0; i < b; i++) {
            double* __restrict line = left + i * b;
            double root = 0.0;
            if (energy[i] != 0.0) {
                const double share = line[i] / energy[i];
                if (!(share >= limits.usable && limits.smallest <= energy[i] &&
                      energy[i] <= limits.largest))  // nor where it is NaN
                    return {i, least};
                least = min(least, share);
                root = 1.0 / sqrt(line[i]);
            }
            inverse_diagonal[i] = root;
            for (Index j = i; j < b; j++) line[j] *= root;
            for (Index p = i + 1; p < b; p++) {
                const double entry = line[p];
                double* __restrict other = left + p * b;
                for (Index j = p; j < b; j++) other[j] -= entry * line[j];
            }
            double* coordinates = data + i * stride + m;
            for (Index j = 0; j < stride - m; j++) coordinates[j] = j <= i ? left[j * b + i] : 0.0;
            if (energy[i] == 0.0)
                for (Index j = 0; j < stride; j++) data[i * stride + j] = 0.0;
        }
        return {b, least};
    }

    // Replaces rows in terms of the frame, V (count, width >= m + b), by rows in terms of [U; rows].
    void solve(double* V, Index count, Index width, const double* L) const {
        for (Index r = 0; r < count; r++) {
            double* __restrict row = V + r * width;
            for (Index i = b - 1; i >= 0; i--) {
                const double entry = row[m + i] *= inverse_diagonal[i];
                const double* __restrict line = data + i * stride;
                for (Index j = 0; j < m + i; j++) row[j] -= entry * line[j];
            }
        }
        if (L) solve_triangle(Solve::right, L, m, {V, count, m, width});
    }
};

// Replaces a positive semidefinite matrix (n, stride), known to rounding only, by rows F (count,
// stride) with F' F equal to it, by Cholesky's method with pivoting; returns the count. `pivoted` is
// scratch (n,).
inline Index factor_semidefinite(double* matrix, Index n, Index stride, Index* pivoted) {
    double largest = 0.0;
    for (Index i = 0; i < n; i++) pivoted[i] = i, largest = max(largest, matrix[i * (stride + 1)]);
    // Rows of F replace those of the matrix, and columns never move: pivoted[count:] are the rows
    // that are left, in the columns of the same numbers.
    Index count = 0;
    for (; count < n; count++) {
        Index best = count;
        for (Index p = count; p < n; p++)
            if (matrix[p * stride + pivoted[p]] > matrix[best * stride + pivoted[best]]) best = p;
        if (!(matrix[best * stride + pivoted[best]] > double(n) * 0x1p-53 * largest)) break;
        if (best != count) {
            const Index number = pivoted[best];
            pivoted[best] = pivoted[count], pivoted[count] = number;
            double *a = matrix + best * stride, *b = matrix + count * stride;
            for (Index c = 0; c < n; c++) {
                const double entry = a[c];
                a[c] = b[c], b[c] = entry;
            }
        }
        double* line = matrix + count * stride;
        const double root = 1.0 / sqrt(line[pivoted[count]]);
        for (Index c = 0; c < n; c++) line[c] *= root;
        for (Index p = 0; p < count; p++) line[pivoted[p]] = 0.0;
        for (Index p = count + 1; p < n; p++) {
            double* other = matrix + p * stride;
            const double entry = line[pivoted[p]];
            for (Index c = 0; c < n; c++) other[c] -= entry * line[c];
        }
    }
    return count;
}

}  // namespace
