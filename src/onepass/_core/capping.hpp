// MEG's projection: scale a spectrum to a given sum, with a cap of 1, in logarithms.
//
// After its step Warmuth and Kuzmin's algorithm holds W with eigenvalues omega', and the projection
// in relative entropy onto {W <= I, tr W = d - k} is omega = min(1, a omega'): the largest are capped
// at 1, the others scaled up (Section 3.3 of the paper). Eigenvalues of exp(-1e300) are normal after
// a large step, so everything here is about log omega'.
#pragma once
#include "simplex.hpp"

namespace {

// One of the logarithms and what becomes of it; log a is the difference.
inline Level find_scale(const Spectrum& s, double target) {
    if (target <= 0.0) return {0.0, -HUGE_VAL};
    sort_descending(s.n, s.values, s.order, s.spare);
    auto log_value = [&](Index p) { return s.values[s.order[p]]; };
    Index n = s.n;
    while (n > 0 && log_value(n - 1) == -HUGE_VAL) n--;
    if (n == 0) return {0.0, 0.0};
    double capped = 0.0;
    for (Index p = 0; p < n; p++) capped += s.multiplicities[s.order[p]];
    if (target >= capped) return {log_value(n - 1), 0.0};

    // From the smallest up, until the next one is at its cap: a = (target - capped) / sum. The sum
    // of exp(logs) is kept relative to its largest term, so it neither over- nor underflows.
    double sum = 0.0, last = log_value(n - 1);
    for (Index p = n - 1; p >= 0; p--) {
        const double current = log_value(p), times = s.multiplicities[s.order[p]];
        sum = sum * exp(last - current) + times;
        capped -= times;
        last = current;
        // Strictly, since the exponential may be zero and the difference is divided by a sum.
        if (p == 0 || target - capped > sum * exp(current - log_value(p - 1))) break;
    }
    return {last, log((target - capped) / sum)};
}

// Replaces logarithms by min(0, logs + log a), with a such that their exponentials sum to the target.
inline void cap(const Spectrum& s, double target) {
    const Level level = find_scale(s, target);
    for (Index i = 0; i < s.n; i++) s.values[i] = min(0.0, (s.values[i] - level.from) + level.to);
}

}  // namespace
