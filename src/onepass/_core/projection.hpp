// Projections of a spectrum: onto a capped simplex (MSG), and in relative entropy (MEG).
#pragma once
#include "vec.hpp"

namespace {

// Writes the indices that put values[:n] in descending order, stably: by insertion, since nearly
// always at most the last value is out of place, and the update before it took n^2 steps.
inline void sort_descending(Index n, const double* values, Index* order) {
    for (Index i = 0; i < n; i++) {
        Index p = i;
        for (; p > 0 && values[order[p - 1]] < values[i]; p--) order[p] = order[p - 1];
        order[p] = i;
    }
}

// Eigenvalues with multiplicities, and scratch for their order.
struct Spectrum {
    Index n;
    double* values;
    const double* multiplicities;
    Index* order;
};

struct Level {
    double from, to;  // an eigenvalue, and what it becomes before it is clipped: S is to - from
};

// -- MSG ------------------------------------------------------------------------------------------
//
// The projection onto {0 <= sigma <= 1, sum sigma = k}: Algorithm 2 of the paper, corrected.
//
// By Lemma 3.2 the projection of M' keeps its eigenvectors and maps its eigenvalues sigma' to
// clip(sigma' + S, 0, 1). The paper's loop moves two ends i and j through the ascending sigma', and
// tests whether exactly those from i to j - 1 are unclipped. What is different here:
// - Line 9 is misprinted. j is one past the last eigenvalue that is not clipped, so it must read
//   ((j > n) or (sigma'_j + S >= 1)).
// - Sums are of sigma' - sigma'_i over the unclipped ones only, all of it in [0, 1], and the unknown
//   is the level sigma'_i + S: an eigenvalue of 1e300 costs the others no digit.
// - The tests of lines 7 to 9 allow for rounding, are repeated with a newly computed sum, and
//   bisection stands behind line 16.
// - Eigenvalues may be repeated, and a target that all ones cannot reach gives all ones.

constexpr double SUM_ROUNDING = 0x1p-50;  // relative error of a short sum of positive terms

inline double clip(double value) { return min(1.0, max(0.0, value)); }

inline double total_clipped(const Spectrum& s, double shift) {
    double sum = 0.0;
    for (Index i = 0; i < s.n; i++)
        sum = fused(s.multiplicities[i], clip(s.values[i] + shift), sum);
    return sum;
}

// S by bisection, for the input that slips through every window by rounding.
inline double bisect(const Spectrum& s, double target) {
    double low = -s.values[0], high = 1.0 - s.values[0];
    for (Index i = 0; i < s.n; i++)
        low = min(low, -s.values[i]), high = max(high, 1.0 - s.values[i]);
    for (;;) {
        const double middle = low + 0.5 * (high - low);
        if (!(low < middle && middle < high)) return high;
        (total_clipped(s, middle) < target ? low : high) = middle;
    }
}

// The eigenvalues i..j-1 of Algorithm 2, by distances from the smallest of them.
struct Window {
    double count;        // the sum of their multiplicities
    double span, above;  // to the largest of them, and to the next one above

    // Whether these are the unclipped ones at the level left / count: lines 7 to 9. In units of the
    // sum, in which rounding is small; in those of the level it is not, where a multiplicity is large.
    // That the next one below is clipped need not be asked: otherwise the window that begins with
    // it fits as well, and came before.
    bool fits(double left, double slack) const {
        return left >= -slack && left <= count * (1.0 - span) + slack &&
               left >= count * (1.0 - above) - slack;
    }
};

inline Level find_level(const Spectrum& s, double target) {
    const Index n = s.n;
    if (n == 0) return {0.0, 0.0};
    sort_descending(n, s.values, s.order);
    auto value = [&](Index p) { return s.values[s.order[n - 1 - p]]; };  // ascending
    auto times = [&](Index p) { return s.multiplicities[s.order[n - 1 - p]]; };

    double ones = 0.0;  // d - c_j
    for (Index p = 0; p < n; p++) ones += s.multiplicities[p];
    if (target >= ones) return {value(0), 1.0};
    const double drift = double(n) * SUM_ROUNDING * ones;
    double over = 0.0, count = 0.0;  // s_j - s_i less count * sigma_i, and c_j - c_i
    for (Index i = 0, j = 0; i < n;) {
        const double bottom = value(i), above = j < n ? value(j) - bottom : HUGE_VAL;
        if (i < j && count > 0.0) {
            const Window window{count, value(j - 1) - bottom, above};
            if (window.fits(target - ones - over, drift)) {
                over = 0.0;
                for (Index p = i; p < j; p++) over = fused(times(p), value(p) - bottom, over);
                const double left = target - ones - over;
                if (window.fits(left, SUM_ROUNDING * (fabs(target - ones) + over)))
                    return {bottom, left / count};
            }
        }
        if (above <= 1.0) {
            over += times(j) * above;
            count += times(j);
            ones -= times(j++);
        } else {
            count -= times(i++);
            // A window of one has nothing over its bottom: rounding errors end here.
            over = i + 1 >= j ? 0.0 : over - count * (value(i) - bottom);
        }
    }
    return {0.0, bisect(s, target)};
}

// Replaces values by clip(values + S, 0, 1), whose sum is the target, or at most that unless exact.
inline void project(const Spectrum& s, double target, bool exact) {
    Level level{0.0, 0.0};
    if (exact || total_clipped(s, 0.0) > target) level = find_level(s, target);
    for (Index i = 0; i < s.n; i++) s.values[i] = clip((s.values[i] - level.from) + level.to);
}

// -- MEG ------------------------------------------------------------------------------------------
//
// MEG's projection: scale a spectrum to a given sum, with a cap of 1, in logarithms.
//
// After its step Warmuth and Kuzmin's algorithm holds W with eigenvalues omega', and the projection
// in relative entropy onto {W <= I, tr W = d - k} is omega = min(1, a omega'): the largest are capped
// at 1, the others scaled up (Section 3.3 of the paper). Eigenvalues of exp(-1e300) are normal after
// a large step, so everything here is about log omega'.

// One of the logarithms and what becomes of it; log a is the difference.
inline Level find_scale(const Spectrum& s, double target) {
    if (target <= 0.0) return {0.0, -HUGE_VAL};
    sort_descending(s.n, s.values, s.order);
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
