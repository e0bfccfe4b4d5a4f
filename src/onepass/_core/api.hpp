// What the bindings and the kernels of an instruction set say to each other: plain data only.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace onepass {

using std::ptrdiff_t;

// What a kernel throws besides std::bad_alloc.
struct BasisError {};  // the rows of the basis are far from orthonormal
struct RowError {      // a row is not finite, or its squared norm is not
    ptrdiff_t row;
};
struct IterateError {};  // the iterate is not finite

// An algorithm with its parameters, and numbers that it remembers from step to step.
struct Rule {
    ptrdiff_t algorithm;  // its number in RuleKernels::names
    ptrdiff_t k, max_rank;
    bool exact_trace;
    std::array<double, 3> memory;
};

// Eigenvalues of a matrix in d dimensions that a rule maps: descending values[:size], with room for
// one more, and that of the complement. Afterwards those that stay.
struct Eigenvalues {
    ptrdiff_t size;
    double* values;
    double rest;
    ptrdiff_t d;
};

// Rows to take one by one, the iterate before them, and what comes out. Rows are dense, or known by
// their Gram matrix with the basis: then `basis` is null, `rows` is the matrix (m + r, m + r), and
// results are in terms of [basis; rows]: they have m + r columns in place of d.
template <class T>
struct Task {
    Rule rule;  // updated
    ptrdiff_t m, d, r;
    const T* basis;         // (m, d)
    const T* rows;          // (r, d)
    const double* weights;  // (m,)
    double rest;            // updated
    const double* steps;    // (r,), or null: the steps are scale / seen
    double scale;
    double seen;               // sqrt of the sum of the squared norms of all gradients; updated
    bool trusted, wants_sums;  // whether the basis is orthonormal; whether sums are to be returned
    double *captured = nullptr, *energy = nullptr;  // (r,) each, receive results
    ptrdiff_t taken = 0, rank = 0, sum_rows = 0;
    double rests = 0.0;
    // Allocated by the kernel; the caller owns them as soon as it returns.
    double* new_weights = nullptr;                 // (rank,)
    double *rotation = nullptr, *inner = nullptr;  // (rank, m), (rank, rank)
    T *new_basis = nullptr, *sums = nullptr;       // (rank, d), (sum_rows, d)
};

// A running mean, the weight of the rows in it, and rows that are to be centred.
template <class T>
struct CentreTask {
    const T* rows;  // (r, d)
    ptrdiff_t r, d;
    const double* row_weights;  // (r,)
    T* centred;                 // (r, d)
    double* mean;               // (d,), updated
    double weight;              // updated
};

// The rows of a basis (m, d) and of a block (b, d), one above the other.
template <class T>
struct Stack {
    const T* basis;
    ptrdiff_t m;
    const T* rows;
    ptrdiff_t b, d;
};

// Sparse rows with their weights: row i has data[starts[i]:starts[i + 1]] in the columns `indices` of
// the same places, ascending.
template <class T>
struct WeightedCsr {
    ptrdiff_t rows, columns;
    const int32_t *starts, *indices;
    const T* data;
    const double* weights;  // (rows,)
};

// The rows (x - origin) / scale of an array (r, d), with strides in numbers; without scale, null.
template <class T>
struct PointRows {
    const T* data;
    ptrdiff_t r, d, row_stride, column_stride;
    const T *origin, *scale;  // (d,) each
};

// Of rows that are worked on in tiles of some length, every step-th tile from the first on.
struct Share {
    ptrdiff_t length, first, step;
};

// Rows whose distances from a point are wanted, and what directions capture of them.
template <class T>
struct MeasureTask {
    PointRows<T> x;
    ptrdiff_t k;
    const T *point, *directions;   // (d,), (k, d)
    double *distances, *captured;  // (r,) each
};

// The model x = m + W z + e of rows, with z ~ N(0, I) of r entries and e ~ N(0, diag(noise)).
struct FactorModel {
    ptrdiff_t d, r;
    const double *mean, *loadings, *noise;  // (d,), W (d, r), (d,)
};

// Rows whose gaps are NaN, and what comes of them. All but `completed` may be null.
template <class T>
struct CompletionTask {
    FactorModel model;
    ptrdiff_t rows_count;
    const T* rows;                         // (n, d)
    const double* weights;                 // (n,), or null: all are 1
    T *completed, *variances;              // (n, d) each; variances of the missing entries
    double *log_determinants, *distances;  // (n,) each, of the observed entries
    double* covariance;  // (d, d): to its upper triangle that of the missing entries is added
};

template <class T>
struct TypedKernels {
    void (*add_sparse_outer)(const WeightedCsr<T>&, bool single, ptrdiff_t part, ptrdiff_t parts,
                             double* out);
    void (*centre)(CentreTask<T>&);
    void (*complete)(CompletionTask<T>&);
    void (*measure)(const MeasureTask<T>&);
    void (*add_outer)(const PointRows<T>&, const double* weights, const Share&, T* out,
                      double* total);
};

struct RowKernels : TypedKernels<double>, TypedKernels<float> {};

template <class T>
struct AdvanceKernel {
    void (*advance)(Task<T>&);
};

struct RuleKernels : AdvanceKernel<double>, AdvanceKernel<float> {
    void (*advance_gram)(Task<double>&);
    void (*map_spectrum)(Rule&, Eigenvalues&);
    const char* const* names;  // of the rules, the same for every instruction set
    ptrdiff_t count;
};

}  // namespace onepass
