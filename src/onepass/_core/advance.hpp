// The way of an algorithm through many rows.
//
// Every algorithm keeps its new state in the span of [U; x]. A block of b rows is therefore taken in
// the space of [U; x_1 .. x_b], of dimension n = m + b at most: their Gram matrix gives coordinates in
// an orthonormal frame, the rule moves in coordinates (rules.hpp), and one product with the rows
// carries the result back.
#pragma once
#include <float.h>

#include "cholesky.hpp"
#include "memory.hpp"
#include "rules.hpp"
#include "tiles.hpp"

namespace {

constexpr Index TRUSTED_BLOCKS = 64;  // after so many the basis is checked: rounding adds up

constexpr double MAX_ENERGY = 1e306;  // of a row: sums of a few of these are finite

// Gram matrices of floats are sums of floats.
template <class T>
constexpr Limits LIMITS =
    sizeof(T) == 8 ? Limits{1e-280, 1e290, 1e-5, 1e-3} : Limits{1e-24, 1e34, 1e-2, 0.1};
// For combinations of many blocks, whose coefficients must stay small.
constexpr Limits GRAM_LIMITS{1e-280, 1e290, 1e-2, 1e-2};

// The rows that are cheapest to take at once.
inline Index block_rows(Index d, Index k) { return k <= 20 && d <= 2000 ? 16 : 24; }

// How the basis moved: `rotation` (rank, m) is the new basis in terms of the old one, and `inner` the
// second moment of the rows along the new basis, as far as it does not come from that before.
class Motion {
public:
    explicit Motion(Index m) : rank(m), first(m) {
        double* t = rotation.zeros(m * m);
        for (Index i = 0; i < m; i++) t[i * (m + 1)] = 1.0;
        inner.zeros(m * m);
    }

    // `block_rotation` (rank', rank), and `products` (b, rank') of the rows with the new basis.
    void add(const Matrix<const double>& block_rotation, const Matrix<const double>& products) {
        const Index m = rank, after = block_rotation.rows;
        const Matrix<double> moved{spare.reserve(after * max(m, first)), after, first, first};
        multiply<double>(block_rotation, {rotation.get(), m, first, first}, moved);
        rotation.swap(spare);
        const Matrix<double> half{spare.reserve(after * max(m, first)), after, m, m};
        multiply<double>(block_rotation, {inner.get(), m, m, m}, half);
        const Matrix<double> whole{inner.reserve(after * after), after, after, after};
        multiply<double>({half.data, after, m, m}, block_rotation.transpose(), whole);
        multiply<double>(products.transpose(), products, whole, 1.0);
        rank = after;
    }

    Buffer<double> rotation, inner;

private:
    Index rank, first;
    Buffer<double> spare;
};

// An iterate on its way through rows. `columns` is the width of the basis and of sums.
template <class T>
class Advance {
protected:
    Advance(onepass::Task<T>& task, Index columns)
        : task(task),
          columns(columns),
          basis(task.basis),
          rank(task.m),
          rest(task.rest),
          motion(task.m) {
        double* w = weights.reserve(rank + 1);
        for (Index i = 0; i < rank; i++) w[i] = task.weights[i];
    }

    // The last rows of the Gram matrix of the basis and of the rows from `start` on.
    virtual void products(Index start, const Coordinates& c) = 0;

    // out (count, columns) = V (count, m + b) [basis; rows from `start` on]
    virtual void combine(const double* V, Index count, const Coordinates& c, Index start,
                         T* out) = 0;

    // Takes rows through the Gram matrix of [U; rows], as far as they are well behaved. The basis has
    // the factor L (m, m), or is orthonormal if that is null.
    Factored take_block(Index count, const double* L, const Limits& limits) {
        const Index stride = padded(rank + count), start = task.taken;
        Coordinates c{block.reserve(count * stride),
                      rank,
                      count,
                      stride,
                      diagonal.reserve(count),
                      task.energy + start,
                      scratch.reserve(count * count)};
        products(start, c);
        const Factored found = c.factor(L, limits);
        c.b = found.count;
        if (c.b > 0)
            take_in_frame(
                c.data, c.b, stride, [&](double* V, Index n) { c.solve(V, n, stride, L); },
                [&](const double* V, Index n, T* out) { combine(V, n, c, start, out); });
        return found;
    }

    // Takes rows (count, stride) in the coordinates of a frame whose first directions are the basis.
    // `solve` replaces rows in terms of the frame by rows in terms of what `combine` combines.
    template <class Solve, class Combine>
    void take_in_frame(const double* coordinates, Index count, Index stride, const Solve& solve,
                       const Combine& combine) {
        const Index m = rank;
        begin_block(m + count, stride, count);
        IterateSum sum;
        if (task.wants_sums) sum = {block_sum.zeros(dimension * stride), stride, 0.0};
        take(coordinates, count, m, sum);
        count_rows(coordinates, count, {V, rank, m, stride});
        if (sum.matrix) {
            const Index found = factor_sum(sum);
            solve(sum.matrix, found);
            combine(sum.matrix, found, room_for_sums(found));
        }
        solve(V, rank);
        combine(V, rank, back.reserve(rank * columns));
        use_new_basis();
    }

    // Makes room for so many more rows in n dimensions. In V the basis is the first coordinates.
    void begin_block(Index n, Index stride, Index count) {
        const Index most = min(rank + count, task.d);
        V = coordinates_of_basis.zeros((most + 1) * stride);
        for (Index i = 0; i < rank; i++) V[i * (stride + 1)] = 1.0;
        weights.extend(most + 2, rank);
        steps.reserve(count);
        workspace.reserve(most, n);
        dimension = n, V_stride = stride;
    }

    // Takes rows in coordinates. `width` of these can be non-zero before the first one.
    void take(const double* coordinates, Index count, Index width, IterateSum& sum) {
        const double* energy = task.energy + task.taken;
        double *captured = task.captured + task.taken, *eta = steps.get();
        for (Index t = 0; t < count; t++) {
            task.seen = hypot(task.seen, energy[t]);
            eta[t] = step_size(task.taken + t);
        }
        Iterate M{{V, V_stride, rank, width}, weights.get(), rest, task.d};
        const BlockRows block{coordinates, count, V_stride, width, dimension, eta, captured};
        Algorithms::loops[task.rule.algorithm](task.rule, M, block, sum, workspace);
        rank = M.basis.rank, rest = M.rest;
        task.rests += sum.rests;
        check_finite();
        if (task.rule.k == task.d)  // all directions capture everything
            for (Index t = 0; t < count; t++) captured[t] = energy[t];
    }

    // Counts rows in coordinates; the new basis is `block_rotation` in terms of that before them.
    void count_rows(const double* coordinates, Index count,
                    const Matrix<const double>& block_rotation) {
        const Matrix<double> products{inner_products.reserve(count * rank), count, rank, rank};
        const Matrix<const double> new_basis{V, rank, dimension, V_stride};
        multiply<double>({coordinates, count, dimension, V_stride}, new_basis.transpose(),
                         products);
        motion.add(block_rotation, {products.data, count, rank, rank});
        task.taken += count;
    }

    // Replaces a sum of iterates by rows whose squares it is, and returns their number.
    Index factor_sum(const IterateSum& sum) {
        return factor_semidefinite(sum.matrix, dimension, sum.stride, pivots.reserve(dimension));
    }

    T* room_for_sums(Index count) {
        if (!task.sum_rows) {  // as if all blocks were like this
            const Index blocks = task.r / block_rows(task.d, task.rule.k) + 1;
            sums.reserve(blocks * dimension * columns);
        }
        const Index before = task.sum_rows * columns;
        task.sum_rows += count;
        return sums.extend(task.sum_rows * columns, before) + before;
    }

    // The new basis has been written to `back`.
    void use_new_basis() {
        front.swap(back);
        basis = front.get();
    }

    void finish() {
        task.rank = rank, task.rest = rest;
        task.new_weights = weights.give(), task.new_basis = front.give(), task.sums = sums.give();
        task.rotation = motion.rotation.give(), task.inner = motion.inner.give();
    }

    onepass::Task<T>& task;
    const Index columns;
    const T* basis;  // (rank, columns): given, or in `front`
    Index rank, dimension = 0, V_stride = 0;
    double rest;
    double* V = nullptr;  // (rank, V_stride): the basis in the coordinates of the block
    Buffer<T> front, back;

private:
    double step_size(Index row) const {
        if (task.steps) return task.steps[row];
        return task.seen > 0.0 ? min(task.scale / task.seen, DBL_MAX) : 0.0;
    }

    // Rows or steps that are too large end in numbers that are not finite.
    void check_finite() const {
        double sum = 0.0;
        for (Index i = 0; i < rank; i++) {
            sum += weights.get()[i];
            for (Index c = 0; c < dimension; c++) sum += V[i * V_stride + c];
        }
        // The rest of MEG is infinite for k = d.
        if (!(fabs(sum) <= DBL_MAX && (fabs(rest) <= DBL_MAX || rest == task.rest)))
            throw onepass::IterateError{};
    }

    Workspace workspace;
    Motion motion;
    Buffer<T> sums;
    Buffer<double> block, diagonal, scratch, block_sum;
    Buffer<double> coordinates_of_basis, weights, steps, inner_products;
    Buffer<Index> pivots;
};

// Rows in memory. Numbers of the basis and of what is combined are of the type of the rows.
template <class T>
class DenseAdvance : Advance<T> {
    using Base = Advance<T>;
    using Base::task, Base::basis, Base::rank, Base::V, Base::front, Base::back;

public:
    explicit DenseAdvance(onepass::Task<T>& task)
        : Base(task, task.d), d(task.d), trusted_blocks(task.trusted ? 1 : 0) {}

    void run() {
        const Index size = block_rows(d, task.rule.k);
        for (Index b = size; task.taken < task.r;) {
            const Index count = min(b, task.r - task.taken);
            if (rank + count >= d) {
                take_columns(count);
            } else if (take_block(count)) {
                b = min(2 * b, size);
            } else {
                take_alone();
                b = 1;  // the next row may be like this one
            }
        }
        if (!sound) orthonormalise();
        add_sum_of_columns();
        if (basis == task.basis && rank > 0)
            std::memcpy(front.reserve(rank * d), basis, std::size_t(rank * d) * sizeof(T));
        Base::finish();
    }

private:
    const T* row(Index t) const { return task.rows + t * d; }

    void products(Index start, const Coordinates& c) override {
        gram_rows(Stack<T>{basis, c.m, row(start), c.b, d}, c.data, c.stride);
        for (Index t = 0; t < c.b; t++) {
            double& energy = c.data[t * c.stride + c.m + t];
            for (Index i = 0; energy == 0.0 && i < d; i++)
                if (row(start + t)[i] != T(0)) energy = NAN;  // underflow
        }
    }

    void combine(const double* V, Index count, const Coordinates& c, Index start, T* out) override {
        combine(V, count, c.stride, Stack<T>{basis, c.m, row(start), c.b, d}, out);
    }

    void combine(const double* V, Index count, Index stride, const Stack<T>& stack, T* out) {
        const Index n = stack.m + stack.b;
        T* narrow = coefficients.reserve(count * n);
        for (Index i = 0; i < count; i++)
            for (Index j = 0; j < n; j++) narrow[i * n + j] = T(V[i * stride + j]);
        ::combine(narrow, count, stack, out);
    }

    // Returns whether a row was taken.
    bool take_block(Index count) {
        const double* L = trusted_blocks ? nullptr : factor_of_basis();
        const Factored found = Base::take_block(count, L, LIMITS<T>);
        if (found.count == 0) return false;
        sound = found.share >= LIMITS<T>.sound;
        trusted_blocks = !sound ? 0 : L ? 1 : (trusted_blocks + 1) % TRUSTED_BLOCKS;
        return true;
    }

    // Takes one row by Algorithm 1 in d dimensions: its residual is formed, in double precision.
    void take_alone() {
        if (!trusted_blocks) orthonormalise();
        const Index m = rank, columns = padded(d), stride = padded(m + 1);
        const Basis U{wide_basis.reserve((m + 2) * columns), columns, m, d};
        widen(basis, m, U.data);
        widen_rows(1, U.row(m + 1));
        double* coordinates = alone.zeros(stride);
        coordinates[m] = split(U, U.row(m + 1), coordinates);
        T* direction = residual.zeros(d);
        if (coordinates[m] != 0.0) narrow(U.row(m), 1, columns, direction);
        const Stack<T> stack{basis, m, direction, 1, d};
        Base::take_in_frame(
            coordinates, 1, stride, [](double*, Index) {},
            [&](const double* V, Index n, T* out) { combine(V, n, stride, stack, out); });
        sound = true;
        trusted_blocks = (trusted_blocks + 1) % TRUSTED_BLOCKS;
    }

    // Takes rows where d is small: coordinates are the columns themselves.
    void take_columns(Index count) {
        const Index m = rank, columns = padded(d);
        double* old_basis = wide_basis.reserve(m * columns);
        widen(basis, m, old_basis);
        orthonormalise_wide(old_basis, m, columns);
        double* coordinates = wide_rows.reserve(count * columns);
        widen_rows(count, coordinates);
        Base::begin_block(d, columns, count);
        if (m > 0) std::memcpy(V, old_basis, std::size_t(m * columns) * sizeof(double));
        if (task.wants_sums && !column_sum.matrix)
            column_sum = {column_matrix.zeros(d * columns), columns, 0.0};
        column_sum.rests = 0.0;
        Base::take(coordinates, count, d, column_sum);
        const Matrix<double> rotation{wide_rotation.reserve(rank * m), rank, m, m};
        const Matrix<const double> before{old_basis, m, d, columns};
        multiply<double>({V, rank, d, columns}, before.transpose(), rotation);
        Base::count_rows(coordinates, count, {rotation.data, rank, m, m});
        narrow(V, rank, columns, back.reserve(rank * d));
        Base::use_new_basis();
        sound = true, trusted_blocks = sizeof(T) == 8 ? 1 : 0;
    }

    void add_sum_of_columns() {
        if (!column_sum.matrix) return;
        Base::dimension = d;
        const Index count = Base::factor_sum(column_sum);
        narrow(column_sum.matrix, count, column_sum.stride, Base::room_for_sums(count));
    }

    // The factor L (m, m) of the Gram matrix of the basis.
    const double* factor_of_basis() {
        const Index m = rank;
        const Matrix<T> products{basis_gram.reserve(m * m), m, m, m};
        const Matrix<const T> U{basis, m, d, d};
        multiply<T>(U, U.transpose(), products);
        double* L = basis_factor.reserve(m * m);
        for (Index i = 0; i < m * m; i++) L[i] = products.data[i];
        factor_basis(L, m);
        return L;
    }

    void orthonormalise() {
        const Index m = rank, stride = padded(m);
        const double* L = factor_of_basis();
        Base::begin_block(m, stride, 0);
        solve_triangle(Solve::right, L, m, {V, m, m, stride});
        combine(V, m, stride, Stack<T>{basis, m, basis, 0, d}, back.reserve(m * d));
        Base::use_new_basis();
        sound = true, trusted_blocks = 1;
    }

    void orthonormalise_wide(double* U, Index m, Index columns) {
        const Matrix<const double> matrix{U, m, columns, columns};
        double* L = basis_factor.reserve(m * m);
        multiply<double>(matrix, matrix.transpose(), {L, m, m, m});
        factor_basis(L, m);
        solve_triangle(Solve::left, L, m, {U, m, d, columns});
    }

    // Writes the next rows in double precision, and notes their energies.
    void widen_rows(Index count, double* out) {
        widen(row(task.taken), count, out);
        for (Index t = task.taken; t < task.taken + count; t++, out += padded(d)) {
            const double length = norm(out, d);
            task.energy[t] = length * length;
            if (!(task.energy[t] <= MAX_ENERGY)) throw onepass::RowError{t};
        }
    }

    // Rows (count, d) in double precision, padded.
    void widen(const T* rows, Index count, double* out) const {
        const Index columns = padded(d);
        for (Index i = 0; i < count; i++) {
            for (Index c = 0; c < d; c++) out[i * columns + c] = rows[i * d + c];
            for (Index c = d; c < columns; c++) out[i * columns + c] = 0.0;
        }
    }

    void narrow(const double* rows, Index count, Index stride, T* out) const {
        for (Index i = 0; i < count; i++)
            for (Index c = 0; c < d; c++) out[i * d + c] = T(rows[i * stride + c]);
    }

    const Index d;
    Index trusted_blocks;  // since the basis was checked; 0 asks for a check
    bool sound = true;
    IterateSum column_sum;
    Buffer<T> coefficients, residual, basis_gram;
    Buffer<double> basis_factor, wide_basis, wide_rows, wide_rotation, alone, column_matrix;
};

// Rows of which only the Gram matrix is known. Sparse rows are cheap, and a basis of d dense columns
// is not: it is left as it is, and what becomes of it is kept as a combination of the old basis and
// the rows, in which row t is the unit vector m + t. Stops at a row that is not well behaved.
class GramAdvance : Advance<double> {
public:
    explicit GramAdvance(onepass::Task<double>& task) : Advance(task, task.m + task.r) {
        double *start = front.zeros(rank * columns), *L = factor.reserve(rank * rank);
        for (Index i = 0; i < rank; i++) {
            start[i * (columns + 1)] = 1.0;
            for (Index j = 0; j < rank; j++) L[i * rank + j] = task.rows[i * columns + j];
        }
        factor_basis(L, rank);
        solve_triangle(Solve::right, L, rank, {start, rank, rank, columns});
        basis = start;
    }

    void run() {
        const Index size = block_rows(task.d, task.rule.k);
        for (Index taken = -1; taken != task.taken;) {
            taken = task.taken;
            const Index left = min(task.r - taken, task.d - rank);
            if (left > 0) take_block(min(size, left), nullptr, GRAM_LIMITS);
        }
        finish();
    }

private:
    void products(Index start, const Coordinates& c) override {
        const Index reached = task.m + start;
        const double* rows = task.rows + reached * columns;
        const Matrix<const double> known{basis, c.m, reached, columns};
        multiply<double>({rows, c.b, reached, columns}, known.transpose(),
                         {c.data, c.b, c.m, c.stride});
        for (Index i = 0; i < c.b; i++)
            for (Index j = 0; j <= i; j++)
                c.data[i * c.stride + c.m + j] = rows[i * columns + reached + j];
    }

    void combine(const double* V, Index count, const Coordinates& c, Index start,
                 double* out) override {
        const Index reached = task.m + start;
        multiply<double>({V, count, c.m, c.stride}, {basis, c.m, reached, columns},
                         {out, count, reached, columns});
        for (Index i = 0; i < count; i++)
            for (Index j = 0; j < columns - reached; j++)
                out[i * columns + reached + j] = j < c.b ? V[i * c.stride + c.m + j] : 0.0;
    }

    Buffer<double> factor;
};

}  // namespace
