// Kernels over rows, compiled once per instruction set: ONEPASS_ISA is the name of the namespace.
// Everything but `row_kernels` is in unnamed namespaces, so that the linker mixes nothing.
#include "completion.hpp"
#include "dense_rows.hpp"
#include "sparse_outer.hpp"

namespace {

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

template <class T>
constexpr onepass::TypedKernels<T> typed{add_sparse_outer<T>, centre<T>, complete<T>, measure<T>,
                                         add_outer<T>};

}  // namespace

namespace onepass::ONEPASS_ISA {
extern const RowKernels row_kernels;
const RowKernels row_kernels{typed<double>, typed<float>};
}  // namespace onepass::ONEPASS_ISA
