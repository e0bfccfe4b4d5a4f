// The way of an algorithm through many rows.
//
// Every algorithm keeps its new state in the span of [U; x]. A block of b rows is therefore taken in
// the space of [U; x_1 .. x_b], of dimension n = m + b at most: their Gram matrix gives coordinates in
// an orthonormal frame, the rule moves in coordinates (rules.hpp), and one product with the rows
// carries the result back.
#pragma once
#include <float.h>

#include "cholesky.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "rules.hpp"
#include "sums.hpp"
#include "tiles.hpp"

namespace {

constexpr Index TRUSTED_BLOCKS = 64;  // after so many the basis is looked at, or rounding adds up

constexpr double MAX_ENERGY = 1e306;  // of a row: sums of a few of these are finite

// Gram matrices of floats are sums of floats.
template <class T>
constexpr Limits LIMITS = sizeof(T) == 8 ? Limits{1e-280, 1e290, 1e-5, 1e-3}
                                         : Limits{1e-24, 1e34, 1e-2, 0.1};
// For combinations of many blocks, whose coefficients must stay small.
constexpr Limits GRAM_LIMITS{1e-280, 1e290, 1e-2, 1e-2};

// The rows that are cheapest to take at once.
inline Index block_rows(Index d, Index k) { return k <= 20 && d <= 2000 ? 16 : 24; }

// How the basis moved: `turn` (rank, m) is the new basis in terms of the old one, and `inner` the
// second moment of the rows along the new basis, as far as it does not come from that before.
class Motion {
public:
    void start(Index m) {
        rank = first = m;
        double* t = turn.zeros(m * m);
        for (Index i = 0; i < m; i++) t[i * (m + 1)] = 1.0;
        inner.zeros(m * m);
    }

    // `block_turn` (rank', rank), and `products` (b, rank') of the rows with the new basis.
    void add(const Matrix<const double>& block_turn, const Matrix<const double>& products) {
        const Index m = rank, after = block_turn.rows;
        const Matrix<double> moved{spare.reserve(after * max(m, first)), after, first, first};
        multiply<double>(block_turn, {turn.get(), m, first, first}, moved);
        turn.swap(spare);
        const Matrix<double> half{spare.reserve(after * max(m, first)), after, m, m};
        multiply<double>(block_turn, {inner.get(), m, m, m}, half);
        const Matrix<double> whole{inner.reserve(after * after), after, after, after};
        multiply<double>({half.data, after, m, m}, block_turn.turned(), whole);
        multiply<double>(products.turned(), products, whole, 1.0);
        rank = after;
    }

    double* give_turn() { return turn.give(); }
    double* give_inner() { return inner.give(); }

private:
    Index rank = 0, first = 0;
    Buffer<double> turn, inner, spare;
};

// What dense rows and rows known by their Gram matrix have in common: the iterate and its moves.
class Advance {
public:
    Advance(onepass::Rule& rule, const onepass::Start& start, onepass::Schedule& schedule,
            onepass::Progress& progress)
        : rule(rule), start(start), schedule(schedule), progress(progress), rank(start.m),
          rest(start.rest) {
        motion.start(start.m);
        double* w = weights.reserve(start.m + 1);
        for (Index i = 0; i < start.m; i++) w[i] = start.weights[i];
    }

    // Begins a block of rows at the basis: V = I in n dimensions.
    void begin_block(Index n, Index stride, Index count) {
        reserve(n, stride, count);
        __builtin_memset(V, 0, std::size_t((min(rank + count, start.d) + 1) * stride) * sizeof(double));
        for (Index i = 0; i < rank; i++) V[i * (stride + 1)] = 1.0;
    }

    // Makes room for so many more rows in n dimensions.
    void reserve(Index n, Index stride, Index count) {
        const Index most = min(rank + count, start.d);
        V = coordinates_of_basis.reserve((most + 1) * stride);
        weights.extend(most + 2, rank);
        steps.reserve(count);
        workspace.reserve(most, n);
        dimension = n, V_stride = stride;
    }

    // Takes rows in coordinates. `width` of these can be non-zero before the first one.
    void take(const double* rows, Index count, Index width, IterateSum& sum) {
        const double* energy = progress.energy + progress.taken;
        double *captured = progress.captured + progress.taken, *eta = steps.get();
        for (Index t = 0; t < count; t++) {
            schedule.seen = hypot(schedule.seen, energy[t]);
            eta[t] = step_size(progress.taken + t);
        }
        Iterate M{{V, V_stride, rank, width}, weights.get(), rest, start.d};
        const BlockRows block{rows, count, V_stride, width, dimension, eta, captured};
        take_rows_with(rule, M, block, sum, workspace);
        rank = M.basis.rank, rest = M.rest;
        progress.rests += sum.rests;
        check_finite();
        if (rule.k == start.d)  // all directions capture everything
            for (Index t = 0; t < count; t++) captured[t] = energy[t];
    }

    // Counts the rows of a block whose basis had `before` directions, in coordinates.
    void count_rows(const double* rows, Index count, const Matrix<const double>& block_turn) {
        const Matrix<double> products{inner_products.reserve(count * rank), count, rank, rank};
        const Matrix<const double> basis{V, rank, dimension, V_stride};
        multiply<double>({rows, count, dimension, V_stride}, basis.turned(), products);
        motion.add(block_turn, {products.data, count, rank, rank});
        progress.taken += count;
    }

    // The sum of the iterates of a block in its frame, zero, if it is wanted.
    IterateSum empty_sum() {
        if (!start.sums) return {};
        return {sum_matrix.zeros(dimension * V_stride), V_stride, 0.0};
    }

    void finish() {
        progress.rank = rank, progress.rest = rest;
        progress.weights = weights.give();
        progress.turn = motion.give_turn();
        progress.inner = motion.give_inner();
    }

    Index* pivots(Index n) { return pivot_numbers.reserve(n); }

    onepass::Rule& rule;
    const onepass::Start& start;
    onepass::Schedule& schedule;
    onepass::Progress& progress;
    double* V = nullptr;  // (rank, V_stride): the basis in the coordinates of the block
    Index V_stride = 0, dimension = 0, rank;
    double rest;

private:
    double step_size(Index row) const {
        if (schedule.given) return schedule.given[row];
        return schedule.seen > 0.0 ? min(schedule.scale / schedule.seen, DBL_MAX) : 0.0;
    }

    // Rows or steps that are too large end in numbers that are not finite.
    void check_finite() const {
        double sum = rest;
        for (Index i = 0; i < rank; i++) {
            sum += weights.get()[i];
            for (Index c = 0; c < dimension; c++) sum += V[i * V_stride + c];
        }
        if (!(fabs(sum) <= DBL_MAX)) throw onepass::IterateError{};
    }

    Workspace workspace;
    Motion motion;
    Buffer<double> coordinates_of_basis, weights, steps, inner_products, sum_matrix;
    Buffer<Index> pivot_numbers;
};

// Memory for the coordinates of a block.
class CoordinateBuffers {
public:
    Coordinates make(Index m, Index b, double* energy) {
        const Index stride = padded(m + b);
        return {data.reserve(b * stride), m, b, stride, diagonal.reserve(b), energy,
                scratch.reserve(b * b)};
    }

private:
    Buffer<double> data, diagonal, scratch;
};

template <class T>
class DenseAdvance {
public:
    DenseAdvance(Advance& advance, onepass::DenseTask<T>& task)
        : state(advance), task(task), d(advance.start.d), basis(task.basis),
          trusted_blocks(advance.start.trusted ? 1 : 0) {}

    void run() {
        const Index size = block_rows(d, state.rule.k);
        for (Index b = size; taken() < task.r;) {
            const Index count = min(b, task.r - taken());
            if (state.rank + count >= d) {
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
        if (basis == task.basis) {
            front.reserve(state.rank * d);
            if (state.rank > 0)
                __builtin_memcpy(front.get(), basis, std::size_t(state.rank * d) * sizeof(T));
        }
        state.finish();
        task.new_basis = front.give(), task.sums = sums.give(), state.progress.sum_rows = sum_rows;
    }

private:
    Index taken() const { return state.progress.taken; }
    const T* next_row() const { return task.rows + taken() * d; }

    // Takes rows through the Gram matrix of [U; rows], as far as they are well behaved; returns
    // whether there was one.
    bool take_block(Index count) {
        const Index m = state.rank;
        const T* rows = next_row();
        Coordinates c = buffers.make(m, count, state.progress.energy + taken());
        gram_rows(Stack<T>{basis, m, rows, count, d}, c.data, c.stride);
        const double* L = trusted_blocks ? nullptr : factor_of_basis();
        const Factored found = c.factor(L, LIMITS<T>);
        c.b = found.count;
        for (Index t = 0; t < c.b; t++)
            if (c.energy[t] == 0.0 && any(rows + t * d)) c.b = t;  // underflow
        if (c.b == 0) return false;
        state.begin_block(m + c.b, c.stride, c.b);
        IterateSum sum = state.empty_sum();
        state.take(c.data, c.b, m, sum);
        state.count_rows(c.data, c.b, {state.V, state.rank, m, c.stride});
        const Stack<T> stack{basis, m, rows, c.b, d};
        add_sum(sum, stack, &c, L);
        c.solve(state.V, state.rank, c.stride, L);
        move_basis(stack);
        sound = found.share >= LIMITS<T>.sound;
        trusted_blocks = !sound ? 0 : L ? 1 : (trusted_blocks + 1) % TRUSTED_BLOCKS;
        return true;
    }

    // Takes one row by Algorithm 1 in d dimensions: its residual is formed, in double precision.
    void take_alone() {
        if (!trusted_blocks) orthonormalise();
        const Index m = state.rank, columns = padded(d), stride = padded(m + 1);
        const Basis U{wide_basis.reserve((m + 2) * columns), columns, m, d};
        widen(basis, m, U.data);
        double* row = U.row(m + 1);
        widen(next_row(), 1, row);
        state.progress.energy[taken()] = energy_of(row);
        double* coordinates = alone.zeros(stride);
        coordinates[m] = split(U, row, coordinates);
        state.begin_block(m + 1, stride, 1);
        IterateSum sum = state.empty_sum();
        state.take(coordinates, 1, m, sum);
        state.count_rows(coordinates, 1, {state.V, state.rank, m, stride});
        if (coordinates[m] == 0.0)  // nothing points along what is left, but it may be NaN
            for (Index c = 0; c < d; c++) U.row(m)[c] = 0.0;
        T* direction = narrow(U.row(m), 1, residual.reserve(d));
        const Stack<T> stack{basis, m, direction, 1, d};
        add_sum(sum, stack, nullptr, nullptr);
        move_basis(stack);
        sound = true;
        trusted_blocks = (trusted_blocks + 1) % TRUSTED_BLOCKS;
    }

    // Takes rows where d is small: coordinates are the columns themselves.
    void take_columns(Index count) {
        const Index m = state.rank, columns = padded(d);
        double* old_basis = wide_basis.reserve(m * columns);
        widen(basis, m, old_basis);
        orthonormalise_wide(old_basis, m, columns);
        double* rows = wide_rows.reserve(count * columns);
        widen(next_row(), count, rows);
        for (Index t = 0; t < count; t++)
            state.progress.energy[taken() + t] = energy_of(rows + t * columns, t);
        state.reserve(d, columns, count);
        __builtin_memset(state.V, 0, std::size_t((min(m + count, d) + 1) * columns) * sizeof(double));
        if (m > 0) __builtin_memcpy(state.V, old_basis, std::size_t(m * columns) * sizeof(double));
        if (state.start.sums && !column_sum.matrix)
            column_sum = {column_matrix.zeros(d * columns), columns, 0.0};
        column_sum.rests = 0.0;
        state.take(rows, count, d, column_sum);
        const Matrix<double> turn{wide_turn.reserve(state.rank * m), state.rank, m, m};
        const Matrix<const double> before{old_basis, m, d, columns};
        multiply<double>({state.V, state.rank, d, columns}, before.turned(), turn);
        state.count_rows(rows, count, {turn.data, state.rank, m, m});
        narrow(state.V, state.rank, back.reserve(state.rank * d), columns);
        front.swap(back);
        basis = front.get();
        sound = true, trusted_blocks = sizeof(T) == 8 ? 1 : 0;
    }

    // The new basis, from its coefficients in V.
    void move_basis(const Stack<T>& stack) {
        back.reserve(state.rank * d);
        combine(coefficients_of(state.V, state.rank, stack), state.rank, stack, back.get());
        front.swap(back);
        basis = front.get();
    }

    // Appends rows whose squares are the sum of the iterates of a block.
    void add_sum(const IterateSum& sum, const Stack<T>& stack, const Coordinates* c,
                 const double* L) {
        if (!sum.matrix) return;
        const Index n = state.dimension;
        const Index count = factor_semidefinite(sum.matrix, n, sum.stride, state.pivots(n));
        if (c) c->solve(sum.matrix, count, sum.stride, L);
        if (!sum_rows) sums.reserve((task.r / stack.b + 1) * n * d);  // if all blocks are like this
        T* room = sums.extend((sum_rows + count) * d, sum_rows * d) + sum_rows * d;
        combine(coefficients_of(sum.matrix, count, stack), count, stack, room);
        sum_rows += count;
    }

    void add_sum_of_columns() {
        if (!column_sum.matrix) return;
        const Index count =
            factor_semidefinite(column_sum.matrix, d, column_sum.stride, state.pivots(d));
        T* room = sums.extend((sum_rows + count) * d, sum_rows * d) + sum_rows * d;
        narrow(column_sum.matrix, count, room, column_sum.stride);
        sum_rows += count;
    }

    // Rows of V, without padding and in the type of the data.
    T* coefficients_of(const double* rows, Index count, const Stack<T>& stack) {
        const Index n = stack.m + stack.b;
        T* out = coefficients.reserve(count * n);
        for (Index i = 0; i < count; i++)
            for (Index j = 0; j < n; j++) out[i * n + j] = T(rows[i * state.V_stride + j]);
        return out;
    }

    // The factor L (m, m) of the Gram matrix of the basis.
    const double* factor_of_basis() {
        const Index m = state.rank;
        const Matrix<T> products{basis_gram.reserve(m * m), m, m, m};
        const Matrix<const T> rows{basis, m, d, d};
        multiply<T>(rows, rows.turned(), products);
        double* L = basis_factor.reserve(m * m);
        for (Index i = 0; i < m * m; i++) L[i] = products.data[i];
        if (!factor_basis(L, m)) throw onepass::BasisError{};
        return L;
    }

    void orthonormalise() {
        const Index m = state.rank;
        const double* L = factor_of_basis();
        state.begin_block(m, padded(m), 0);
        solve_right(state.V, m, padded(m), L, m);
        move_basis({basis, m, nullptr, 0, d});
        sound = true, trusted_blocks = 1;
    }

    void orthonormalise_wide(double* rows, Index m, Index columns) {
        const Matrix<const double> U{rows, m, columns, columns};
        double* L = basis_factor.reserve(m * m);
        multiply<double>(U, U.turned(), {L, m, m, m});
        if (!factor_basis(L, m)) throw onepass::BasisError{};
        for (Index i = 0; i < m; i++) {
            double* row = rows + i * columns;
            for (Index j = 0; j < i; j++)
                for (Index c = 0; c < d; c++) row[c] -= L[i * m + j] * rows[j * columns + c];
            for (Index c = 0; c < d; c++) row[c] /= L[i * (m + 1)];
        }
    }

    double energy_of(const double* row, Index t = 0) const {
        const double length = norm(row, d), energy = length * length;
        if (!(energy <= MAX_ENERGY)) throw onepass::RowError{taken() + t};
        return energy;
    }

    bool any(const T* row) const {
        for (Index c = 0; c < d; c++)
            if (row[c] != T(0)) return true;
        return false;
    }

    // Rows (count, d) in double precision, padded.
    void widen(const T* rows, Index count, double* out) const {
        const Index columns = padded(d);
        for (Index i = 0; i < count; i++) {
            for (Index c = 0; c < d; c++) out[i * columns + c] = rows[i * d + c];
            for (Index c = d; c < columns; c++) out[i * columns + c] = 0.0;
        }
    }

    T* narrow(const double* rows, Index count, T* out, Index stride = 0) const {
        for (Index i = 0; i < count; i++)
            for (Index c = 0; c < d; c++) out[i * d + c] = T(rows[i * stride + c]);
        return out;
    }

    Advance& state;
    onepass::DenseTask<T>& task;
    const Index d;
    const T* basis;        // (rank, d): given, or in `front`
    Index trusted_blocks;  // since the basis was looked at; 0 asks for a look
    bool sound = true;
    Index sum_rows = 0;
    IterateSum column_sum;
    CoordinateBuffers buffers;
    Buffer<T> front, back, sums, coefficients, residual, basis_gram;
    Buffer<double> basis_factor, wide_basis, wide_rows, wide_turn, alone, column_matrix;
};

// The same for rows of which only the Gram matrix is known. Sparse rows are cheap, and a basis of d
// dense columns is not: it is left as it is, and what becomes of it is kept as a combination of the
// old basis and the rows. Stops at a row that is not well behaved.
class GramAdvance {
public:
    GramAdvance(Advance& advance, onepass::GramTask& task)
        : state(advance), task(task), columns(advance.start.m + task.r) {
        double* c = combination.zeros(state.rank * columns);
        for (Index i = 0; i < state.rank; i++) c[i * (columns + 1)] = 1.0;
    }

    void run() {
        const Index size = block_rows(state.start.d, state.rule.k);
        bool more = true;
        while (more && state.progress.taken < task.r) {
            const Index left = min(task.r - state.progress.taken, state.start.d - state.rank);
            more = take_block(min(size, left));
        }
        state.finish();
        task.coefficients = combination.give(), task.sums = sums.give();
        state.progress.sum_rows = sum_rows;
    }

private:
    // Takes rows as far as they are well behaved; returns whether there was one.
    bool take_block(Index count) {
        const Index m = state.rank, reached = state.start.m + state.progress.taken;
        Coordinates c = buffers.make(m, count, state.progress.energy + state.progress.taken);
        const double* rows = task.gram + reached * columns;
        const Matrix<const double> old{combination.get(), m, reached, columns};
        multiply<double>({rows, count, reached, columns}, old.turned(), {c.data, count, m, c.stride});
        for (Index i = 0; i < count; i++)
            for (Index j = 0; j <= i; j++)
                c.data[i * c.stride + m + j] = rows[i * columns + reached + j];
        c.b = c.factor(nullptr, GRAM_LIMITS).count;
        if (c.b == 0) return false;
        state.begin_block(m + c.b, c.stride, c.b);
        IterateSum sum = state.empty_sum();
        state.take(c.data, c.b, m, sum);
        state.count_rows(c.data, c.b, {state.V, state.rank, m, c.stride});
        if (sum.matrix) {
            const Index n = state.dimension;
            const Index found = factor_semidefinite(sum.matrix, n, sum.stride, state.pivots(n));
            c.solve(sum.matrix, found, sum.stride, nullptr);
            double* room = sums.extend((sum_rows + found) * columns, sum_rows * columns);
            combine_rows(sum.matrix, found, c, old, room + sum_rows * columns);
            sum_rows += found;
        }
        c.solve(state.V, state.rank, c.stride, nullptr);
        combine_rows(state.V, state.rank, c, old, spare.reserve(state.rank * columns));
        combination.swap(spare);
        return true;
    }

    // Coefficients for the current basis and a block, as coefficients for the old basis and all rows.
    void combine_rows(const double* V, Index count, const Coordinates& c,
                      const Matrix<const double>& old, double* out) const {
        multiply<double>({V, count, c.m, c.stride}, old, {out, count, old.columns, columns});
        for (Index i = 0; i < count; i++) {
            double* line = out + i * columns + old.columns;
            for (Index j = 0; j < columns - old.columns; j++)
                line[j] = j < c.b ? V[i * c.stride + c.m + j] : 0.0;
        }
    }

    Advance& state;
    onepass::GramTask& task;
    const Index columns;
    Index sum_rows = 0;
    CoordinateBuffers buffers;
    Buffer<double> combination, spare, sums;
};

}  // namespace
