// The eigenpairs of a diagonal plus a rank-one matrix in O(n^2): line 3 of Algorithm 1.
//
// The eigenvalues of diag(d) + z z' are the roots of a secular equation (secular.hpp), and
// eigenvector i is proportional to z_j / (d_j - x_i). What makes that work in floating point:
// - Scaling: d and z by powers of two of their own, so that neither swamps the other and no square
//   leaves the range: f becomes inverse + sum_j w_j / (d_j - x) with d and w of order 1.
// - Deflation (as LAPACK's dlaed2): a zero z_j leaves d_j an eigenvalue; of two equal d_j, one z_j is
//   made zero with a rotation. Only what would leave the floating-point range counts as equal or
//   zero: small eigenvalues keep their digits beside a huge z.
// - Roots as offsets from the nearest pole: all differences d_j - x_i are accurate.
// - Another z (Gu and Eisenstat 1994): the z whose exact eigenvalues are the computed roots. It
//   differs from z by rounding, and its eigenvectors are orthogonal however close the roots are.
#pragma once
#include <initializer_list>

#include "memory.hpp"
#include "projection.hpp"
#include "secular.hpp"

namespace {

// In units of the largest pole, or weight: what is below would leave the floating-point range.
constexpr double TINY_GAP = 0x1p-100, TINY_WEIGHT = 0x1p-200, TINY_OFFSET = 0x1p-300;
constexpr double BELOW_ALL_ROOTS = -4.0;

class RankOne {
public:
    // Makes room for matrices up to (n, n).
    void reserve(Index n) {
        const Index width = padded(n);
        if (width <= room) return;
        double* d = doubles.reserve(14 * width);
        for (double** array :
             {&q.pole, &q.weight, &q.base, &q.offset, &q.pole_above, &q.weight_above, &q.gap,
              &q.value, &q.change, &diagonal, &z, &cosine, &sine, &entries})
            *array = d, d += width;
        Index* i = indices.reserve(6 * width);
        for (Index** array : {&q.active, &sorted, &kept, &first, &second, &place})
            *array = i, i += width;
        room = width;
    }

    // Writes the eigenpairs of diag(given) + given_z given_z', eigenvalues descending; row i of
    // `vectors` (n, stride) is eigenvector i.
    void solve(Index n, const double* given, const double* given_z, double* values, double* vectors,
               Index stride) {
        double largest = 0.0, largest_z = 0.0;
        for (Index i = 0; i < n; i++) {
            largest = max(largest, fabs(given[i]));
            largest_z = max(largest_z, fabs(given_z[i]));
        }
        const int high_z = exponent(largest_z, 0), high = exponent(largest, 2 * high_z);
        const double scale = ldexp(1.0, high), scale_z = ldexp(1.0, high_z);
        for (Index i = 0; i < n; i++) diagonal[i] = given[i] / scale, z[i] = given_z[i] / scale_z;
        // In these units the matrix is diag + z z' / inverse.
        const int units = high - 2 * high_z;
        q.inverse = ldexp(1.0, units < -100 ? -100 : units > 320 ? 320 : units);

        Index m = n;
        rotations = 0;
        if (in_order(n)) {
            for (Index i = 0; i < n; i++) kept[i] = i;
        } else {
            sort_descending(n, diagonal, sorted);
            m = deflate(n);
        }
        double all = 0.0;
        for (Index j = 0; j < m; j++) {
            const Index i = kept[j];
            q.pole[j] = diagonal[i], q.weight[j] = z[i] * z[i];
            all += q.weight[j];
        }
        secular_roots(q, m);
        if (m == n) {  // the roots are descending
            for (Index i = 0; i < n; i++)
                values[i] = (q.base[i] + q.offset[i]) * scale, place[i] = i;
        } else {
            merge(n, m, scale, values, vectors, stride);
        }
        // Beyond the units the largest eigenvalue is |z|^2.
        if (m > 0 && units < -100) values[place[0]] = all * scale_z * scale_z;
        write_eigenvectors(m, vectors, stride);
        for (Index p = rotations; p-- > 0;)
            for (Index row = 0; row < n; row++) {
                double& a = vectors[row * stride + first[p]];
                double& b = vectors[row * stride + second[p]];
                const double old = a;
                a = cosine[p] * old - sine[p] * b, b = sine[p] * old + cosine[p] * b;
            }
    }

private:
    // The binary exponent of a magnitude, kept in the range where powers of two have inverses.
    static int exponent(double magnitude, int otherwise) {
        int e = otherwise;
        if (magnitude > 0.0) frexp(magnitude, &e);
        return e < -1000 ? -1000 : e > 1000 ? 1000 : e;
    }

    // Whether the poles are descending and none is to be deflated, which is the rule.
    bool in_order(Index n) const {
        const double least = max(TINY_WEIGHT, q.inverse * TINY_OFFSET);
        bool good = n > 0 && z[0] * z[0] > least;
        for (Index i = 1; i < n; i++)
            good &= (diagonal[i - 1] - diagonal[i] > TINY_GAP) & (z[i] * z[i] > least);
        return good;
    }

    // Separates the m poles of the equation, kept[:m], from the eigenvalues that are known already,
    // kept[m:n], each by descending pole; returns m.
    Index deflate(Index n) {
        Index m = 0;
        for (Index p = 0; p < n; p++) {
            const Index i = sorted[p], last = m > 0 ? kept[m - 1] : i;
            const double weight = z[i] * z[i];
            if (weight <= TINY_WEIGHT || weight <= q.inverse * TINY_OFFSET) {
                place[p - m] = i;
            } else if (m > 0 && diagonal[last] - diagonal[i] <= TINY_GAP) {
                const double length = sqrt(z[last] * z[last] + weight);
                first[rotations] = last, second[rotations] = i;
                cosine[rotations] = z[last] / length, sine[rotations] = z[i] / length;
                z[last] = length;
                rotations++;
                place[p - m] = i;
            } else {
                kept[m++] = i;
            }
        }
        for (Index p = 0; p < n - m; p++) kept[m + p] = place[p];
        return m;
    }

    // Writes all eigenvalues in order, the rows of the m roots, and the eigenvectors of the others.
    void merge(Index n, Index m, double scale, double* values, double* vectors, Index stride) {
        for (Index i = 0; i < n; i++)
            for (Index j = 0; j < n; j++) vectors[i * stride + j] = 0.0;
        Index found = 0, known = m;
        for (Index row = 0; row < n; row++) {
            const double x = found < m ? q.base[found] + q.offset[found] : -HUGE_VAL;
            // A root that is not a number has to have its row as well.
            if (known < n && (found == m || diagonal[kept[known]] > x)) {
                values[row] = diagonal[kept[known]] * scale;
                vectors[row * stride + kept[known++]] = 1.0;
            } else {
                values[row] = x * scale;
                place[found++] = row;
            }
        }
    }

    // Replaces the weights by those, up to a factor, whose roots are exactly the computed ones: w_j
    // is proportional to prod_i (x_i - d_j) / prod_{i != j} (d_i - d_j).
    void make_weights_consistent(Index m) {
        for (Index s = 0; s < m; s += LANES) {
            const vec d = load(q.pole + s);
            vec product = spread(1.0);
            for (Index i = 0; i < m; i++) {
                const vec apart = q.pole[i] - d;  // only d_j itself is not apart
                product *= ((d - q.base[i]) - q.offset[i]) / (apart == 0.0 ? spread(1.0) : apart);
            }
            store(q.weight + s, larger(product, 0.0 - product));
        }
    }

    // Writes the eigenvectors that belong to the m roots: unit vectors along z_j / (d_j - x_i).
    void write_eigenvectors(Index m, double* vectors, Index stride) {
        if (m == 0) return;
        if (m == 1) {
            vectors[place[0] * stride + kept[0]] = 1.0;
            return;
        }
        make_weights_consistent(m);
        for (Index j = 0; j < m; j++) q.weight[j] = copysign(sqrt(q.weight[j]), z[kept[j]]);
        for (Index j = m; j < padded(m); j++) q.pole[j] = BELOW_ALL_ROOTS, q.weight[j] = 0.0;
        for (Index i = 0; i < m; i++) {
            const double x = q.base[i], t = q.offset[i];
            vec squares{};
            for (Index s = 0; s < m; s += LANES) {
                const vec part = t * (load(q.weight + s) / ((load(q.pole + s) - x) - t));
                squares += part * part;
                store(entries + s, part);
            }
            const double factor = 1.0 / sqrt(total(squares));
            double* row = vectors + place[i] * stride;
            for (Index j = 0; j < m; j++) row[kept[j]] = factor * entries[j];
        }
    }

    Buffer<double> doubles;
    Buffer<Index> indices;
    Index room = 0, rotations = 0;
    Secular q{};
    double *diagonal = nullptr, *z = nullptr, *cosine = nullptr, *sine = nullptr;
    double* entries = nullptr;
    Index *sorted = nullptr, *kept = nullptr, *first = nullptr, *second = nullptr, *place = nullptr;
};

}  // namespace
