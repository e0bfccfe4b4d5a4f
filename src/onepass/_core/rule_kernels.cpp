// The paper's algorithms, compiled once per instruction set: ONEPASS_ISA is the name of the namespace.
// Everything but `rule_kernels` is in unnamed namespaces, so that the linker mixes nothing.
#include "advance.hpp"

namespace {

template <class T>
void advance(onepass::Task<T>& task) {
    DenseAdvance<T>(task).run();
}

void advance_gram(onepass::Task<double>& task) { GramAdvance(task).run(); }

// What a rule makes of eigenvalues, for steps with batches.
void map_values(onepass::Rule& rule, Eigenvalues& values) {
    Buffer<double> multiplicities(values.size + 1);
    Buffer<Index> order(values.size + 1);
    Algorithms::maps[rule.algorithm](rule, values, {multiplicities.get(), order.get()});
}

}  // namespace

namespace onepass::ONEPASS_ISA {
extern const RuleKernels rule_kernels;
const RuleKernels rule_kernels{{advance<double>}, {advance<float>},  advance_gram,
                               map_values,        Algorithms::names, Algorithms::count};
}  // namespace onepass::ONEPASS_ISA
