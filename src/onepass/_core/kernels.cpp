// All kernels, compiled once per instruction set: ONEPASS_ISA is the name of the namespace.
// Everything but `kernels` is in unnamed namespaces, so that the linker mixes nothing.
#include "advance.hpp"
#include "completion.hpp"
#include "dense_rows.hpp"
#include "sparse_outer.hpp"

namespace {

template <class T>
void advance(onepass::Task<T>& task) {
    DenseAdvance<T>(task).run();
}

void advance_gram(onepass::Task<double>& task) { GramAdvance(task).run(); }

// Rows centred as they come: sqrt(w W / (W + w)) (x - mean of the rows before), W their weight.
// Their second moments add up to the scatter of all rows about the final mean.
template <class T>
void centre(onepass::CentreTask<T>& task) {
    const Index d = task.d;
    if (task.weight == 0.0 && task.r > 0)  // there is no mean yet
        for (Index c = 0; c < d; c++) task.mean[c] = task.rows[c];
    // The mean moves relative to the old one, so that a mean far from zero costs no digits.
    Buffer<double> change;
    double* __restrict moved = change.zeros(d);
    const double* __restrict mean = task.mean;
    for (Index t = 0; t < task.r; t++) {
        const T* __restrict row = task.rows + t * d;
        T* __restrict centred = task.centred + t * d;
        const double weight = task.row_weights[t], together = task.weight + weight;
        const double share = weight / together;
        const double scale = sqrt(weight) * sqrt(task.weight / together);
        for (Index c = 0; c < d; c++) {
            const double deviation = (row[c] - mean[c]) - moved[c];
            moved[c] += share * deviation;
            centred[c] = T(scale * deviation);
        }
        task.weight = together;
    }
    for (Index c = 0; c < d; c++) task.mean[c] += moved[c];
}

// What a rule makes of eigenvalues, for steps with batches.
void map_values(onepass::Rule& rule, Eigenvalues& values) {
    Buffer<double> multiplicities(values.size + 1);
    Buffer<Index> order(values.size + 1);
    Algorithms::maps[rule.algorithm](rule, values, {multiplicities.get(), order.get()});
}

// -- parts of the above, for the tests -----------------------------------------------------------

void rank_one(Index n, const double* values, const double* z, double* new_values, double* vectors) {
    RankOne solver;
    solver.reserve(n);
    solver.solve(n, values, z, new_values, vectors, n);
}

void project_values(Index n, double* values, const double* multiplicities, double k, bool exact) {
    Buffer<Index> order(n);
    project({n, values, multiplicities, order.get()}, k, exact);
}

void cap_logs(Index n, double* logs, const double* multiplicities, double total) {
    Buffer<Index> order(n);
    cap({n, logs, multiplicities, order.get()}, total);
}

// The factor (n, n) of a Gram matrix; returns the number of rows before the first dependent one.
Index cholesky(Index n, const double* gram, double* factor) {
    const Index stride = padded(n);
    Buffer<double> rows, vectors(2 * n), scratch(n * n);
    Coordinates c{rows.zeros(n * stride), 0, n, stride, vectors.get(), vectors.get() + n,
                  scratch.get()};
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j <= i; j++) c.data[i * stride + j] = gram[i * n + j];
    const Index count = c.factor(nullptr, LIMITS<double>).count;
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j < n; j++)
            factor[i * n + j] = i < count && j <= i ? c.data[i * stride + j] : 0.0;
    return count;
}

double split_row(Index m, Index n, const double* basis, const double* row, double* inside,
                 double* outside) {
    const Index columns = padded(n);
    Buffer<double> room;
    const Basis U{room.zeros((m + 2) * columns), columns, m, n};
    for (Index i = 0; i < m * n; i++) U.row(i / n)[i % n] = basis[i];
    for (Index c = 0; c < n; c++) U.row(m + 1)[c] = row[c];
    const double residual = split(U, U.row(m + 1), inside);
    for (Index c = 0; c < n; c++) outside[c] = residual > 0.0 ? U.row(m)[c] : 0.0;
    return residual;
}

template <class T>
constexpr onepass::TypedKernels<T> typed{{add_sparse_outer<T, int32_t>},
                                         {add_sparse_outer<T, int64_t>},
                                         advance<T>,
                                         centre<T>,
                                         complete<T>,
                                         measure<T>,
                                         add_outer<T>,
                                         gram_rows<T>,
                                         combine<T>};

}  // namespace

namespace onepass {
namespace ONEPASS_ISA {
extern const Kernels kernels;
const Kernels kernels{typed<double>, typed<float>,      advance_gram,     rank_one,
                      map_values,    project_values,    cap_logs,         cholesky,
                      split_row,     Algorithms::names, Algorithms::count};
}  // namespace ONEPASS_ISA
}  // namespace onepass
