// All kernels, compiled once per instruction set: ONEPASS_ISA is the name of the namespace.
// Everything but `kernels` is in unnamed namespaces, so that the linker mixes nothing.
#include "advance.hpp"
#include "centre.hpp"

namespace {

// MEG for k = d: W = 0 and M = I, whatever the rows are, and all of each is captured.
inline bool is_constant(const onepass::Rule& rule, Index d) {
    return rule.algorithm == onepass::Algorithm::meg && rule.k == d;
}

void leave_constant(const onepass::Start& start, onepass::Schedule& schedule, Index r,
                    onepass::Progress& progress) {
    for (Index t = 0; t < r; t++) {
        progress.captured[t] = progress.energy[t];
        schedule.seen = hypot(schedule.seen, progress.energy[t]);
    }
    progress.taken = r, progress.rest = start.rest, progress.rests = double(r);
}

template <class T>
void advance(onepass::Rule& rule, const onepass::Start& start, onepass::Schedule& schedule,
             onepass::DenseTask<T>& task, onepass::Progress& progress) {
    if (is_constant(rule, start.d)) {
        for (Index t = 0; t < task.r; t++) {
            double energy = 0.0;
            const T* row = task.rows + t * start.d;
            for (Index c = 0; c < start.d; c++) energy = fused(row[c], row[c], energy);
            if (!(energy <= MAX_ENERGY)) throw onepass::RowError{t};
            progress.energy[t] = energy;
        }
        return leave_constant(start, schedule, task.r, progress);
    }
    Advance state(rule, start, schedule, progress);
    DenseAdvance<T>(state, task).run();
}

void advance_gram(onepass::Rule& rule, const onepass::Start& start, onepass::Schedule& schedule,
                  onepass::GramTask& task, onepass::Progress& progress) {
    if (is_constant(rule, start.d)) {
        const Index columns = start.m + task.r;
        for (Index t = 0; t < task.r; t++)
            progress.energy[t] = task.gram[(start.m + t) * (columns + 1)];
        return leave_constant(start, schedule, task.r, progress);
    }
    Advance state(rule, start, schedule, progress);
    GramAdvance(state, task).run();
}

template <class T>
void gram(const T* basis, Index m, const T* rows, Index b, Index d, double* out) {
    gram_rows(Stack<T>{basis, m, rows, b, d}, out, m + b);
}

template <class T>
void combine_stack(const T* coefficients, Index k, const onepass::DenseTask<T>& stack, Index m,
                   Index d, T* out) {
    combine(coefficients, k, Stack<T>{stack.basis, m, stack.rows, stack.r, d}, out);
}

void rank_one(Index n, const double* values, const double* z, double* new_values,
              double* vectors) {
    RankOne solver;
    solver.reserve(n);
    solver.solve(n, values, z, new_values, vectors, n);
}

void project_values(Index n, double* values, const double* multiplicities, double k, bool exact) {
    Buffer<Index> order(2 * n);
    project({n, values, multiplicities, order.get(), order.get() + n}, k, exact);
}

void cap_logs(Index n, double* logs, const double* multiplicities, double total) {
    Buffer<Index> order(2 * n);
    cap({n, logs, multiplicities, order.get(), order.get() + n}, total);
}

// The factor (n, n) of a Gram matrix; returns the number of rows before the first dependent one.
Index cholesky(Index n, const double* gram, double* factor) {
    Buffer<double> energy(n);
    CoordinateBuffers buffers;
    Coordinates c = buffers.make(0, n, energy.get());
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j <= i; j++) c.data[i * c.stride + j] = gram[i * n + j];
    const Index count = c.factor(nullptr, LIMITS<double>).count;
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j < n; j++)
            factor[i * n + j] = i < count && j <= i ? c.data[i * c.stride + j] : 0.0;
    return count;
}

double split_row(Index m, Index n, const double* basis, const double* row, double* inside,
                 double* outside) {
    const Index columns = padded(n);
    Buffer<double> room;
    const Basis U{room.zeros((m + 2) * columns), columns, m, n};
    for (Index i = 0; i < m; i++)
        for (Index c = 0; c < n; c++) U.row(i)[c] = basis[i * n + c];
    for (Index c = 0; c < n; c++) U.row(m + 1)[c] = row[c];
    const double residual = split(U, U.row(m + 1), inside);
    for (Index c = 0; c < n; c++) outside[c] = residual > 0.0 ? U.row(m)[c] : 0.0;
    return residual;
}

template <class T>
constexpr onepass::TypedKernels<T> typed{advance<T>, centre<T>, gram<T>, combine_stack<T>};

}  // namespace

namespace onepass {
namespace ONEPASS_ISA {
extern const Kernels kernels;
const Kernels kernels{typed<double>,  typed<float>, advance_gram, rank_one,
                      project_values, cap_logs,     cholesky,     split_row};
}  // namespace ONEPASS_ISA
}  // namespace onepass
