// Rows centred as they come: sqrt(w W / (W + w)) (x - mean of the rows before), W their weight.
// Their second moments add up to the scatter of all rows about the final mean.
#pragma once
#include "api.hpp"
#include "memory.hpp"

namespace {

template <class T>
void centre(const onepass::CentreTask<T>& task, onepass::RunningMean& running) {
    const Index d = task.d;
    if (running.weight == 0.0 && task.r > 0)  // there is no mean yet
        for (Index c = 0; c < d; c++) running.mean[c] = task.rows[c];
    // The mean moves relative to the old one, so that a mean far from zero costs no digits.
    Buffer<double> change;
    double* __restrict moved = change.zeros(d);
    const double* __restrict mean = running.mean;
    for (Index t = 0; t < task.r; t++) {
        const T* __restrict row = task.rows + t * d;
        T* __restrict centred = task.centred + t * d;
        const double weight = task.row_weights[t], together = running.weight + weight;
        const double share = weight / together;
        const double scale = sqrt(weight) * sqrt(running.weight / together);
        for (Index c = 0; c < d; c++) {
            const double deviation = (row[c] - mean[c]) - moved[c];
            moved[c] += share * deviation;
            centred[c] = T(scale * deviation);
        }
        running.weight = together;
    }
    for (Index c = 0; c < d; c++) running.mean[c] += moved[c];
}

}  // namespace
