// Rows with gaps, completed by a low-rank Gaussian model.
//
//     x = m + W z + e,    z ~ N(0, I),    e ~ N(0, diag(psi))
//
// Given the observed entries of a row, z is normal with precision G and mean G^-1 h:
//
//     G = I + sum of w_j w_j' / psi_j,    h = sum of w_j (x_j - m_j) / psi_j,    over observed j
//
// The missing entries have the mean m + W G^-1 h and the covariance W G^-1 W' + diag(psi), in the rows
// of W that are missing. With G = R' R, B = R^-T W' and y = R^-T h these are m + B' y and
// B' B + diag(psi). R and B depend on where the gaps are only: rows with the same gaps share them.
// A column without noise is constant, and has no loadings.
#pragma once
#include <algorithm>

#include "api.hpp"
#include "crossproduct.hpp"
#include "memory.hpp"

namespace {

// The sum over observed entries may be found from that over all of them, if its trace is at most
// this: G is at least I, and the difference has ten correct digits then.
constexpr double SUBTRACTABLE_TRACE = 1e-10 / 0x1p-52;

// Which entries of a row are missing.
class GapPattern {
public:
    explicit GapPattern(Index d) : d(d), observed(both.reserve(2 * d)), missing(observed + d) {}

    template <class T>
    void find(const T* row) {
        observed_count = missing_count = 0;
        for (Index j = 0; j < d; j++)
            if (row[j] == row[j])
                observed[observed_count++] = j;
            else
                missing[missing_count++] = j;
    }

    // Whether a row has these gaps.
    template <class T>
    bool fits(const T* row) const {
        bool same = true;
        for (Index p = 0; p < observed_count; p++) same &= row[observed[p]] == row[observed[p]];
        for (Index p = 0; p < missing_count; p++) same &= row[missing[p]] != row[missing[p]];
        return same;
    }

private:
    Buffer<Index> both;

public:
    const Index d;
    Index* const observed;
    Index* const missing;
    Index observed_count = 0, missing_count = 0;
};

// What the model says of the entries that are missing, given the others.
class Conditional {
public:
    explicit Conditional(const onepass::FactorModel& model)
        : model(model), d(model.d), r(model.r), stride(tiled(model.r)) {
        double* a = scaled.zeros(d * stride);
        double* root = inverse_root.reserve(d);
        for (Index j = 0; j < d; j++) {
            root[j] = model.noise[j] > 0.0 ? 1.0 / sqrt(model.noise[j]) : 0.0;
            for (Index i = 0; i < r; i++) a[j * stride + i] = model.loadings[j * r + i] * root[j];
        }
        double *sum = whole.reserve(stride * stride), trace = 0.0;
        crossproduct(a, d, stride, sum);
        for (Index i = 0; i < r; i++) trace += sum[i * (stride + 1)];
        subtractable = trace <= SUBTRACTABLE_TRACE;
        R.reserve(stride * stride), some.reserve(d * stride), inverse_diagonal.reserve(r);
        y.zeros(stride), z.reserve(r), deviations.reserve(d);
    }

    // Finds R and B for rows with these gaps.
    void condition(const GapPattern& gaps) {
        find_precision(gaps);
        factor();
        width = tiled(gaps.missing_count);
        double* b = B.zeros(r * width);
        for (Index c = 0; c < gaps.missing_count; c++)
            for (Index i = 0; i < r; i++)
                b[i * width + c] = model.loadings[gaps.missing[c] * r + i];
        for (Index i = 0; i < r; i++) {  // solves with R'
            double* __restrict row = b + i * width;
            for (Index c = 0; c < width; c++) row[c] *= inverse_diagonal.get()[i];
            for (Index p = i + 1; p < r; p++) {
                const double entry = R.get()[i * stride + p];
                double* __restrict other = b + p * width;
                for (Index c = 0; c < width; c++) other[c] -= entry * row[c];
            }
        }
        double* __restrict variance = variances.zeros(width);
        for (Index i = 0; i < r; i++)
            for (Index c = 0; c < width; c++) {
                const double entry = b[i * width + c];
                variance[c] += entry * entry;
            }
        for (Index c = 0; c < gaps.missing_count; c++) variance[c] += model.noise[gaps.missing[c]];
    }

    // Copies a row and writes conditional means into its gaps.
    template <class T>
    void complete(const GapPattern& gaps, const T* row, T* completed) {
        project(gaps, row);
        double* __restrict means = fill.zeros(width);
        for (Index i = 0; i < r; i++) {
            const double factor = y.get()[i], *__restrict line = B.get() + i * width;
            for (Index c = 0; c < width; c++) means[c] += factor * line[c];
        }
        std::memcpy(completed, row, std::size_t(d) * sizeof(T));
        for (Index c = 0; c < gaps.missing_count; c++)
            completed[gaps.missing[c]] = T(model.mean[gaps.missing[c]] + means[c]);
    }

    // Adds the covariance of the missing entries, times a weight, to an upper triangle (d, d).
    void add_covariance(const GapPattern& gaps, double weight, double* out) {
        const Index count = gaps.missing_count;
        const Index* missing = gaps.missing;
        double* panel = products.reserve(CROSS_ROWS * width);
        for (Index i = 0; i < count; i += CROSS_ROWS) {
            crossproduct_rows(B.get(), r, width, i, panel);
            for (Index t = i; t < min(i + CROSS_ROWS, count); t++) {
                const double* __restrict line = panel + (t - i) * width;
                double* target = out + missing[t] * d;
                for (Index c = t; c < count; c++) target[missing[c]] += weight * line[c];
                target[missing[t]] += weight * model.noise[missing[t]];
            }
        }
    }

    // The logarithm of the determinant of the covariance of the observed entries.
    double log_determinant(const GapPattern& gaps) const {
        double sum = 0.0;
        for (Index i = 0; i < r; i++) sum -= 2.0 * log(inverse_diagonal.get()[i]);
        for (Index p = 0; p < gaps.observed_count; p++)
            if (const double noise = model.noise[gaps.observed[p]]; noise > 0.0) sum += log(noise);
        return sum;
    }

    // The squared Mahalanobis distance of the observed entries of the row that was completed last:
    // |e|^2 + |z|^2 at the conditional mean of z, with e in units of the noise.
    double distance(const GapPattern& gaps) {
        double* mean = z.get();
        double sum = 0.0;
        for (Index i = r - 1; i >= 0; i--) {  // solves with R
            const double* line = R.get() + i * stride;
            double left = y.get()[i];
            for (Index j = i + 1; j < r; j++) left -= line[j] * mean[j];
            mean[i] = left * inverse_diagonal.get()[i];
            sum += mean[i] * mean[i];
        }
        for (Index p = 0; p < gaps.observed_count; p++) {
            const double* a = scaled.get() + gaps.observed[p] * stride;
            double left = deviations.get()[p];
            for (Index i = 0; i < r; i++) left -= a[i] * mean[i];
            sum += left * left;
        }
        return sum;
    }

    Buffer<double> variances;  // of the missing entries

private:
    // Writes the upper triangle of G to R. Of the two sums, that over fewer entries is formed.
    void find_precision(const GapPattern& gaps) {
        const bool subtract = subtractable && gaps.missing_count < gaps.observed_count;
        const Index count = subtract ? gaps.missing_count : gaps.observed_count;
        const Index* places = subtract ? gaps.missing : gaps.observed;
        for (Index p = 0; p < count; p++)
            std::memcpy(some.get() + p * stride, scaled.get() + places[p] * stride,
                        std::size_t(stride) * sizeof(double));
        crossproduct(some.get(), count, stride, R.get());
        for (Index i = 0; i < r; i++) {
            double* __restrict line = R.get() + i * stride, *all = whole.get() + i * stride;
            for (Index j = i; subtract && j < stride; j++) line[j] = all[j] - line[j];
            line[i] += 1.0;
        }
    }

    // Replaces the upper triangle of G by R.
    void factor() {
        for (Index i = 0; i < r; i++) {
            double* __restrict line = R.get() + i * stride;
            // No pivot of I plus a positive semidefinite matrix is below 1, but for rounding.
            const double inverse = 1.0 / sqrt(max(line[i], 1.0));
            inverse_diagonal.get()[i] = inverse;
            for (Index j = i; j < stride; j++) line[j] *= inverse;
            for (Index p = i + 1; p < r; p++) {
                const double entry = line[p];
                double* __restrict other = R.get() + p * stride;
                for (Index j = p; j < stride; j++) other[j] -= entry * line[j];
            }
        }
    }

    // Writes y = R^-T h for a row, and its deviations from the mean in units of the noise.
    template <class T>
    void project(const GapPattern& gaps, const T* row) {
        double* e = deviations.get();
        for (Index p = 0; p < gaps.observed_count; p++) {
            const Index j = gaps.observed[p];
            e[p] = (double(row[j]) - model.mean[j]) * inverse_root.get()[j];
        }
        double* h = y.get();
        for (Index c = 0; c < stride; c += CROSS_COLUMNS) {
            vec first{}, second{};
            for (Index p = 0; p < gaps.observed_count; p++) {
                const double* a = scaled.get() + gaps.observed[p] * stride + c;
                first += e[p] * load(a), second += e[p] * load(a + LANES);
            }
            store(h + c, first), store(h + c + LANES, second);
        }
        for (Index i = 0; i < r; i++) {  // solves with R'
            const double* line = R.get() + i * stride;
            const double entry = h[i] *= inverse_diagonal.get()[i];
            for (Index j = i + 1; j < r; j++) h[j] -= entry * line[j];
        }
    }

    const onepass::FactorModel model;
    const Index d, r, stride;
    Index width = 0;  // of B, padded
    bool subtractable;
    Buffer<double> scaled, inverse_root;    // (d, stride): w_j / sqrt(psi_j); 1 / sqrt(psi_j)
    Buffer<double> whole, some;             // the sum over all entries; rows of one over some
    Buffer<double> R, inverse_diagonal, B;  // (r, stride), (r,), (r, width)
    Buffer<double> y, z, deviations;        // of the last row
    Buffer<double> fill, products;          // scratch
};

// Returns a number that rows with the same gaps share, and next to no others.
template <class T>
uint64_t hash_gaps(const T* row, Index d) {
    uint64_t hash = 0;
    for (Index j = 0; j < d; j += 64) {
        uint64_t bits = 0;
        for (Index c = j; c < min(j + 64, d); c++) bits |= uint64_t(row[c] != row[c]) << (c - j);
        hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

// Completes rows; all that have the same gaps are conditioned once.
template <class T>
void complete(onepass::CompletionTask<T>& task) {
    struct Place {
        uint64_t hash;
        Index row;
        bool operator<(const Place& other) const {
            return hash != other.hash ? hash < other.hash : row < other.row;
        }
    };
    const Index d = task.model.d;
    Buffer<Place> places;
    Place* order = places.reserve(task.rows_count);
    for (Index t = 0; t < task.rows_count; t++) order[t] = {hash_gaps(task.rows + t * d, d), t};
    std::sort(order, order + task.rows_count);
    Conditional model(task.model);
    GapPattern gaps(d);
    double weight = 0.0;  // of the rows with these gaps
    for (Index i = 0; i < task.rows_count; i++) {
        const Index t = order[i].row;
        const T* row = task.rows + t * d;
        if (i == 0 || order[i].hash != order[i - 1].hash || !gaps.fits(row)) {
            if (task.covariance) model.add_covariance(gaps, weight, task.covariance);
            gaps.find(row), weight = 0.0;
            model.condition(gaps);
        }
        weight += task.weights ? task.weights[t] : 1.0;
        model.complete(gaps, row, task.completed + t * d);
        if (task.variances) {
            T* variances = task.variances + t * d;
            for (Index j = 0; j < d; j++) variances[j] = T(0);
            for (Index c = 0; c < gaps.missing_count; c++)
                variances[gaps.missing[c]] = T(model.variances.get()[c]);
        }
        if (task.distances) {
            task.log_determinants[t] = model.log_determinant(gaps);
            task.distances[t] = model.distance(gaps);
        }
    }
    if (task.covariance) model.add_covariance(gaps, weight, task.covariance);
}

}  // namespace
