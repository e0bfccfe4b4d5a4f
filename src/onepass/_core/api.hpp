// What the bindings and the kernels of an instruction set say to each other: plain data only.
#pragma once
#include <cstddef>
#include <cstdint>

namespace onepass {

using std::ptrdiff_t;

enum class Algorithm { msg, meg, incremental, oja, grouse };

// An algorithm with its parameters, and what the rank test of Section 5 remembers.
struct Rule {
    Algorithm algorithm;
    ptrdiff_t k, max_rank;
    bool exact_trace, grow, deficient;
    int64_t step, next_test;
};

// The step sizes of r rows: given, or scale / seen if `given` is null.
struct Schedule {
    const double* given;
    double scale;
    double seen;  // sqrt of the sum of the squared norms of all gradients; updated
};

// What comes out of both ways to take rows. Arrays that were allocated belong to the receiver.
struct Progress {
    double* captured = nullptr;  // (r,), given
    double* energy = nullptr;    // (r,), given
    ptrdiff_t taken = 0;
    ptrdiff_t rank = 0;
    double rest = 0.0, rests = 0.0;
    double* weights = nullptr;  // (rank,), allocated
    double* turn = nullptr;     // (rank, m), allocated
    double* inner = nullptr;    // (rank, rank), allocated
    ptrdiff_t sum_rows = 0;
};

// The state before the rows.
struct Start {
    ptrdiff_t m, d;
    const double* weights;  // (m,)
    double rest;
    bool trusted, sums;  // whether the basis is known to be orthonormal; whether sums are wanted
};

template <class T>
struct DenseTask {
    const T* basis;  // (m, d)
    const T* rows;   // (r, d)
    ptrdiff_t r;
    T* new_basis = nullptr;  // (rank, d), allocated
    T* sums = nullptr;       // (sum_rows, d), allocated
};

struct GramTask {
    const double* gram;  // (m + r, m + r)
    ptrdiff_t r;
    double* coefficients = nullptr;  // (rank, m + r), allocated
    double* sums = nullptr;          // (sum_rows, m + r), allocated
};

// A running mean, and the weight of the rows in it.
struct RunningMean {
    double* mean;  // (d,)
    double weight;
};

template <class T>
struct CentreTask {
    const T* rows;  // (r, d)
    ptrdiff_t r, d;
    const double* row_weights;  // (r,)
    T* centred;                 // (r, d)
};

template <class T>
struct TypedKernels {
    void (*advance)(Rule&, const Start&, Schedule&, DenseTask<T>&, Progress&);
    void (*centre)(const CentreTask<T>&, RunningMean&);
    void (*gram)(const T* basis, ptrdiff_t m, const T* rows, ptrdiff_t b, ptrdiff_t d, double* out);
    void (*combine)(const T* coefficients, ptrdiff_t k, const DenseTask<T>&, ptrdiff_t m,
                    ptrdiff_t d, T* out);
};

struct Kernels {
    TypedKernels<double> of_double;
    TypedKernels<float> of_float;
    void (*advance_gram)(Rule&, const Start&, Schedule&, GramTask&, Progress&);
    void (*rank_one)(ptrdiff_t n, const double* values, const double* z, double* new_values,
                     double* vectors);
    void (*project)(ptrdiff_t n, double* values, const double* multiplicities, double k, bool exact);
    void (*cap)(ptrdiff_t n, double* logs, const double* multiplicities, double total);
    ptrdiff_t (*cholesky)(ptrdiff_t n, const double* gram, double* factor);
    double (*split)(ptrdiff_t m, ptrdiff_t n, const double* basis, const double* row,
                    double* inside, double* outside);
};

}  // namespace onepass
