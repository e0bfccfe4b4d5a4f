// The algorithms. A rule says in `step` what one row does to an iterate M that is written in the
// coordinates of a block: the row is already split into z = U x and a residual r along the unit
// vector after the basis. Rules that add the row to M and then change eigenvalues only say in `map`
// what becomes of these, for steps with batches as well. To add an algorithm: a struct here, and its
// name in `Algorithms` below.
#pragma once
#include "api.hpp"
#include "rank_one.hpp"
#include "split.hpp"

namespace {

// M = U' diag(weights) U + rest (I - U' U) in d dimensions.
struct Iterate {
    Basis basis;
    double* weights;
    double rest;
    Index d;
};

struct SplitRow {
    double residual;  // r; the part inside is Workspace::z
    double inside;    // |z|^2
    double step;      // eta
};

using onepass::Eigenvalues;

// Room for the multiplicities and the order of one eigenvalue more than there are.
struct MapScratch {
    double* multiplicities = nullptr;
    Index* order = nullptr;
};

// What a step needs besides its arguments.
class Workspace {
public:
    double *z = nullptr, *values = nullptr, *vectors = nullptr, *scratch = nullptr;
    MapScratch map;
    Index stride = 0;
    RankOne rank_one;

    // Makes room for `directions` in a space of `width` coordinates.
    void reserve(Index directions, Index width) {
        const Index n = padded(directions + 2);
        if (n > stride) {
            double* d = doubles.reserve(3 * n);
            z = d, values = d + n;
            map = {d + 2 * n, indices.reserve(n)};
            vectors = matrix.reserve(n * n);
            rank_one.reserve(n);
            stride = n;
        }
        scratch = rows.reserve((directions + 1) * padded(width));
    }

private:
    Buffer<double> doubles, matrix, rows;
    Buffer<Index> indices;
};

// Moves M to the eigenvectors of M + eta x x' (Algorithm 1, line 3) that stay in the rule's map.
template <class Rule>
void rank_one_step(const Rule& rule, Iterate& M, const SplitRow& row, Workspace& w) {
    Index size = M.basis.rank;
    if (row.residual > 0.0) M.weights[size] = M.rest, w.z[size] = row.residual, size++;
    const double root = sqrt(row.step);
    for (Index i = 0; i < size; i++) w.z[i] *= root;
    w.rank_one.solve(size, M.weights, w.z, w.values, w.vectors, w.stride);
    Eigenvalues mapped{size, w.values, M.rest, M.d};
    rule.map(mapped, w.map);
    rotate({w.vectors, mapped.size, size, w.stride}, M.basis, w.scratch);
    for (Index i = 0; i < mapped.size; i++) M.weights[i] = mapped.values[i];
    M.basis.rank = mapped.size, M.rest = mapped.rest;
}

// What rules have in common: their parameters, and the weights of M for those of the state.
struct AnyRule {
    onepass::Rule& rule;

    static double primal(double weight) { return weight; }
    void map(Eigenvalues&, const MapScratch&) const {}  // eigenvalues stay
};

// Drops directions whose eigenvalue is that of the complement.
inline void drop_complement(Eigenvalues& e) {
    while (e.size > 0 && e.values[e.size - 1] <= e.rest) e.size--;
}

// Matrix stochastic gradient and Capped MSG: Arora, Cotter and Srebro (2013), Sections 3.1 and 5.
//
//     M(t+1) = P(M(t) + eta x x')                                  (the paper's update 3.1)
//
// with P the projection onto 0 <= M <= I, tr M <= k or tr M = k and, where capped, rank M <= K:
// sigma' = eig(diag(sigma) + z z'), z = sqrt(eta) [U x; r] (Algorithm 1), keep the K largest, then
// sigma = clip(sigma' + S, 0, 1) (Algorithm 2). `rest` is not zero only for tr M = k without a cap.
struct Msg : AnyRule {
    static constexpr const char* name = "msg";

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        rank_one_step(*this, M, row, w);
    }

    void map(Eigenvalues& sigma, const MapScratch& s) const {
        const Index size = sigma.size = min(sigma.size, rule.max_rank);
        for (Index i = 0; i < size; i++) s.multiplicities[i] = 1.0;
        Spectrum spectrum{size, sigma.values, s.multiplicities, s.order};
        if (rule.exact_trace && rule.max_rank >= sigma.d && size < sigma.d) {
            // The complement takes part, with its multiplicity.
            sigma.values[size] = sigma.rest, s.multiplicities[size] = double(sigma.d - size);
            spectrum.n++;
            project(spectrum, double(rule.k), true);
            sigma.rest = sigma.values[size];
        } else {  // a capped iterate of fewer than k directions cannot have trace k yet
            project(spectrum, double(min(rule.k, size)), rule.exact_trace);
            sigma.rest = 0.0;
        }
        drop_complement(sigma);
        test_rank(sigma.size, sigma.d);
    }

    // Section 5: an iterate that stays at rank K asks for a larger K; each test waits twice as long.
    // K stays where no test comes next.
    void test_rank(Index rank, Index d) const {
        auto& [next_test, step, deficient] = rule.memory;
        if (next_test == 0.0) return;
        step += 1.0;
        if (rank < rule.max_rank) deficient = 1.0;
        if (step >= next_test) {
            if (deficient == 0.0 && rule.max_rank < d) rule.max_rank++;
            deficient = 0.0;
            next_test *= 2.0;
        }
    }
};

// The incremental algorithm of Arora, Cotter, Livescu and Srebro (2012); the paper's Section 5.2.
//
//     M(t+1) = P_rank-K(M(t) + x x')
//
// No step, no shift, no clip. Without truncation M is the second moment of the rows.
struct Incremental : AnyRule {
    static constexpr const char* name = "incremental";

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        rank_one_step(*this, M, {row.residual, row.inside, 1.0}, w);
    }

    void map(Eigenvalues& sigma, const MapScratch&) const {
        sigma.size = min(sigma.size, rule.max_rank);
        sigma.rest = 0.0;
    }
};

// Matrix exponentiated gradient, Warmuth and Kuzmin (2008); the paper's Section 3.3.
//
// Mirror descent on W = I - M with the entropy of the spectrum: log W' = log W - eta x x', then
// omega = min(1, alpha omega') with alpha such that tr W = d - k. The state is the dual variable
// A = -log W, which is positive semidefinite, and so the step is the rank-one update of MSG:
//
//     a' = eig(diag(a) + z z'), z = sqrt(eta) [U x; r];   a = max(0, a' - log alpha)
//
// The complement reaches W = 1, a = 0, and from then on the rank is finite: directions with the a of
// the complement are dropped. M has the weights 1 - exp(-a).
struct Meg : AnyRule {
    static constexpr const char* name = "meg";

    static double primal(double weight) { return -expm1(-weight); }

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        if (rule.k == M.d) return;  // W = 0 and M = I, whatever the rows are
        rank_one_step(*this, M, row, w);
    }

    void map(Eigenvalues& dual, const MapScratch& s) const {
        const Index size = dual.size, d = dual.d;
        double* a = dual.values;
        for (Index i = 0; i < size; i++) a[i] = -a[i], s.multiplicities[i] = 1.0;
        Spectrum spectrum{size, a, s.multiplicities, s.order};
        if (size < d)  // the complement takes part, with its multiplicity
            a[size] = -dual.rest, s.multiplicities[size] = double(d - size), spectrum.n++;
        cap(spectrum, double(d - rule.k));
        dual.rest = size < d ? -a[size] : 0.0;
        for (Index i = 0; i < size; i++) a[i] = -a[i];
        drop_complement(dual);
    }
};

// The stochastic power method, Oja's algorithm for k directions; the paper's Section 3.
//
//     U(t+1) = P_orth(U(t) + eta x x' U(t))
//
// With w = U' x, p = U w and r = x - p the columns of U that are orthogonal to w stay, and the one
// along w, p/|p|, becomes (1 + eta |w|^2) p/|p| + eta |w| r, normalised: P_orth is a rotation in the
// plane of p and r by the angle phi, tan phi = eta |w| |r| / (1 + eta |w|^2). All weights are 1.
struct Oja : AnyRule {
    static constexpr const char* name = "oja";

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        turn(M, row, 1.0 / row.step, w);
    }

    // Steps may be very large: their inverse is used.
    static void turn(Iterate& M, const SplitRow& row, double inverse_step, Workspace& w) {
        const double length = sqrt(row.inside);
        const double angle = atan2(length * row.residual, inverse_step + row.inside);
        rotate_towards(M.basis, w.z, length, angle);
    }
};

// AdaOja: Henriksen and Ward (2019). Oja's step, with the size
//
//     eta_t = b / sqrt(sum_{s <= t} |g_s|^2),    g = x x' U,  |g| = |x| |U' x|
//
// The rule remembers the root of the sum.
struct AdaOja : AnyRule {
    static constexpr const char* name = "ada_oja";

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        double& gradients = rule.memory[0];
        gradients = hypot(gradients, sqrt(row.inside) * hypot(sqrt(row.inside), row.residual));
        if (gradients > 0.0) Oja::turn(M, row, gradients / row.step, w);
    }
};

// Grassmannian SGD, GROUSE: Balzano, Nowak and Recht (2010); the paper's Section 6.
//
// A step along the geodesic of the Grassmannian, without missing entries. With w = U' x, p = U w,
// r = x - p and theta = eta |r| |p|: U(t+1) = U + [(cos theta - 1) p/|p| + sin theta r/|r|] w'/|w|.
struct Grouse : AnyRule {
    static constexpr const char* name = "grouse";

    void step(Iterate& M, const SplitRow& row, Workspace& w) const {
        const double length = sqrt(row.inside);
        rotate_towards(M.basis, w.z, length, row.step * row.residual * length);
    }
};

// The sum of the iterates held before each row: rests I + a matrix, if one is asked for.
struct IterateSum {
    double* matrix = nullptr;  // (n, stride)
    Index stride = 0;
    double rests = 0.0;

    template <class Rule>
    void add(const Iterate& M, double* scratch) {
        const double rest = Rule::primal(M.rest);
        rests += rest;
        if (!matrix) return;
        const Basis& U = M.basis;
        for (Index i = 0; i < U.rank; i++) {
            const double weight = Rule::primal(M.weights[i]) - rest;
            for (Index c = 0; c < U.width; c++) scratch[i * U.width + c] = weight * U.row(i)[c];
        }
        const Matrix<const double> rows{U.data, U.rank, U.width, U.stride};
        const Matrix<const double> weighted{scratch, U.rank, U.width, U.width};
        multiply<double>(rows.transpose(), weighted, {matrix, U.width, U.width, stride}, 1.0);
    }
};

// Rows of a block in its coordinates, with their steps.
struct BlockRows {
    const double* data;  // (count, stride)
    Index count, stride;
    Index width, n;  // row t is zero from column min(width + t + 1, n) on
    const double* steps;
    double* captured;  // receives the energies in the k leading directions, before each step
};

// The loop over rows.
template <class Rule>
void take_rows(onepass::Rule& given, Iterate& M, const BlockRows& rows, IterateSum& sum,
               Workspace& w) {
    const Rule rule{{given}};
    for (Index t = 0; t < rows.count; t++) {
        Basis& U = M.basis;
        U.width = min(rows.width + t + 1, rows.n);
        sum.add<Rule>(M, w.scratch);
        double residual = split(U, rows.data + t * rows.stride, w.z);
        if (U.rank == M.d) residual = 0.0;  // there is nothing outside
        double inside = 0.0, captured = 0.0;
        for (Index i = 0; i < U.rank; i++) {
            inside = fused(w.z[i], w.z[i], inside);
            if (i < given.k) captured = inside;
        }
        rows.captured[t] = captured;
        rule.step(M, {residual, inside, rows.steps[t]}, w);
    }
}

template <class Rule>
void map_spectrum(onepass::Rule& given, Eigenvalues& values, const MapScratch& scratch) {
    Rule{{given}}.map(values, scratch);
}

template <class... Rules>
struct RuleList {
    static constexpr Index count = sizeof...(Rules);
    static constexpr const char* names[] = {Rules::name...};
    static constexpr decltype(&take_rows<Msg>) loops[] = {take_rows<Rules>...};
    static constexpr decltype(&map_spectrum<Msg>) maps[] = {map_spectrum<Rules>...};
};

using Algorithms = RuleList<Msg, Meg, Incremental, Oja, AdaOja, Grouse>;

}  // namespace
