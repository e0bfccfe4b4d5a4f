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

template <class T>
constexpr onepass::TypedKernels<T> typed{{add_sparse_outer<T, int32_t>},
                                         {add_sparse_outer<T, int64_t>},
                                         advance<T>,
                                         centre<T>,
                                         complete<T>,
                                         measure<T>,
                                         add_outer<T>};

}  // namespace

namespace onepass {
namespace ONEPASS_ISA {
extern const Kernels kernels;
const Kernels kernels{typed<double>, typed<float>,      advance_gram,
                      map_values,    Algorithms::names, Algorithms::count};
}  // namespace ONEPASS_ISA
}  // namespace onepass
