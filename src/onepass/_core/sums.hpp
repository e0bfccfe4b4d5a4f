// A factor F of a positive semidefinite matrix, F' F, that is known to rounding only.
#pragma once
#include "vec.hpp"

namespace {

// Replaces a symmetric matrix (n, stride) by rows F (count, stride) with F' F equal to it up to
// rounding, by Cholesky's method with pivoting; returns the count. `pivoted` is scratch (n,).
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
