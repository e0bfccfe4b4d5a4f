// Sums of w x x' over sparse rows, added to the upper triangle of a dense matrix.
//
// Columns that many rows store are copied to a dense block, whose products are those of BLAS, in
// single precision where that is enough. The other columns are sparse. Row by row, their products
// would land all over a large matrix. Here all products of one row of the matrix come together:
// column c of the rows says which of them have an entry there, and the entries of these rows from c
// on are added to row c of the matrix, which stays in the cache. Each entry of the matrix is a sum
// in double precision over blocks of rows, whatever part of the matrix a call adds to: parts can be
// filled at the same time, with the same bits.
#pragma once
#include <algorithm>

#include "api.hpp"
#include "blas.hpp"
#include "memory.hpp"

namespace {

using onepass::WeightedCsr;

// A column is dense if more than one in so many rows store it: from there on BLAS is faster, although
// it multiplies zeros. Between an eighth and two fifths the time is the same.
constexpr Index DENSE_ONE_IN = 5;
constexpr Index LEAST_DENSE = 32;  // dense columns for which a block is worth its overhead
// Limits of a block of rows: its sparse entries and its dense part are read many times and fit into
// the last cache, and sums of single precision are short.
constexpr Index OUTER_ROWS = 2048, OUTER_ENTRIES = 1 << 20, DENSE_BYTES = 1 << 24;
constexpr Index PANEL_COLUMNS = 512;  // of products of dense columns that are added at a time
constexpr int CROSS_REGISTERS = 8;    // of products of a sparse column with dense ones

// Which columns of sparse rows are dense, and where these are in the dense block.
class Columns {
public:
    template <class T>
    explicit Columns(const WeightedCsr<T>& x) {
        slot = slots.reserve(x.columns);
        dense = numbers.reserve(x.columns);
        Index* counts = dense;
        for (Index c = 0; c < x.columns; c++) counts[c] = 0, slot[c] = -1;
        for (Index p = x.starts[0]; p < Index(x.starts[x.rows]); p++) counts[x.indices[p]]++;
        Index many = 0, stored = 0;
        for (Index c = 0; c < x.columns; c++)
            if (DENSE_ONE_IN * counts[c] > x.rows) many++, stored += counts[c];
        if (many < LEAST_DENSE) return;
        sparse_share -= double(stored) / double(x.starts[x.rows]);
        for (Index c = 0; c < x.columns; c++)  // no number overtakes the counts
            if (DENSE_ONE_IN * counts[c] > x.rows) slot[c] = count, dense[count++] = c;
    }

    Index count = 0;            // of dense columns
    double sparse_share = 1.0;  // of the entries
    Index *slot, *dense;        // (columns,): in the block, or -1; (count,): their numbers

private:
    Buffer<Index> slots, numbers;
};

// A block of rows, times the roots of their weights: dense columns in a matrix of F, sparse ones by
// row and by column.
template <class F>
class SplitRows {
public:
    struct Entry {
        Index place;
        int32_t row, end;  // its row, and where the sparse entries of the row end
    };

    SplitRows(const Columns& columns, Index d) : columns(columns), d(d) {
        constexpr Index side = CROSS_REGISTERS * Lanes<F>::count;
        stride = (columns.count + side - 1) / side * side;
        ends.reserve(d + 1);
    }

    // Returns how many rows of x from the first on make a block.
    template <class T>
    Index length(const WeightedCsr<T>& x, Index first) const {
        const Index fit = stride ? max(DENSE_BYTES / Index(sizeof(F)) / stride, 64) : OUTER_ROWS;
        const Index most = min(first + min(OUTER_ROWS, fit), x.rows);
        auto entries = [&](Index last) {
            return columns.sparse_share * double(x.starts[last] - x.starts[first]);
        };
        Index last = first + 1;
        while (last < most && entries(last + 1) <= double(OUTER_ENTRIES)) last++;
        return last - first;
    }

    template <class T>
    void fill(const WeightedCsr<T>& x, Index first, Index rows) {
        const Index most = Index(x.starts[first + rows]) - Index(x.starts[first]);
        height = rows;
        F* block = dense.zeros(rows * stride);
        double* v = values.reserve(most);
        int32_t* number = numbers.reserve(most);
        Index* row_ends = this->row_ends.reserve(rows);
        Index* end = ends.zeros(d + 1);
        Index count = 0;
        for (Index r = 0; r < rows; r++) {
            const double weight = x.weights[first + r], root = sqrt(weight);
            const Index stop = weight > 0.0 ? Index(x.starts[first + r + 1]) : 0;
            for (Index p = Index(x.starts[first + r]); p < stop; p++) {
                const Index c = Index(x.indices[p]), slot = columns.slot[c];
                const double value = root * double(x.data[p]);
                if (slot >= 0)
                    block[r * stride + slot] = F(value);
                else
                    v[count] = value, number[count++] = int32_t(c), end[c + 1]++;
            }
            row_ends[r] = count;
        }
        for (Index c = 0; c < d; c++) end[c + 1] += end[c];
        // end[c] is where column c begins, until all of it is there.
        Entry* entry = entries.reserve(count);
        for (Index r = 0, p = 0; r < rows; r++)
            for (; p < row_ends[r]; p++)
                entry[end[number[p]]++] = {p, int32_t(r), int32_t(row_ends[r])};
    }

    const Entry* begin(Index c) const { return entries.get() + (c > 0 ? ends.get()[c - 1] : 0); }
    const Entry* end(Index c) const { return entries.get() + ends.get()[c]; }

    // Returns the column where the first `part` of `parts` equal shares of the products of sparse
    // columns with each other end.
    Index cut(Index part, Index parts) const {
        Index all = 0, sum = 0, c = 0;
        auto products = [&](Index column) {
            Index found = 0;
            for (const Entry* e = begin(column); e < end(column); e++) found += e->end - e->place;
            return found;
        };
        for (Index column = 0; column < d; column++) all += products(column);
        for (; c < d && part < parts && sum * parts < all * part; c++) sum += products(c);
        return part < parts ? c : d;
    }

    const Columns& columns;
    const Index d;
    Index stride, height = 0;
    Buffer<F> dense;  // (height, stride)
    Buffer<double> values;
    Buffer<int32_t> numbers;  // of the columns of the values

private:
    Buffer<Index> row_ends, ends;
    Buffer<Entry> entries;
};

// Asks for the first cache lines of what is read next; the processor sees by itself how it goes on.
inline void fetch(const void* begin) {
    constexpr int LINE = 64, LINES = 4;  // bytes, and as many lines as arrive during one row
    for (int line = 0; line < LINES; line++)
        __builtin_prefetch(static_cast<const char*>(begin) + line * LINE);
}

// Adds products of the sparse columns first..last-1 with sparse ones.
template <class F>
void add_sparse(const SplitRows<F>& x, Index first, Index last, double* out) {
    const double* values = x.values.get();
    const int32_t* numbers = x.numbers.get();
    for (Index c = first; c < last; c++) {
        double* line = out + c * x.d;
        for (const auto* entry = x.begin(c); entry < x.end(c); entry++) {
            if (entry + 1 < x.end(c))
                fetch(values + entry[1].place), fetch(numbers + entry[1].place);
            const double factor = values[entry->place];
            for (Index p = entry->place; p < entry->end; p++)
                line[numbers[p]] += factor * values[p];
        }
    }
}

// Adds products of the sparse columns first..last-1 with dense ones.
template <class F>
void add_across(const SplitRows<F>& x, Index first, Index last, double* out) {
    using L = Lanes<F>;
    constexpr int R = CROSS_REGISTERS;
    F sums[R * L::count];
    for (Index t = 0; t < x.stride; t += R * L::count) {
        const Index count = min(R * L::count, x.columns.count - t);
        const Index* dense = x.columns.dense + t;
        for (Index c = first; c < last; c++) {
            if (x.begin(c) == x.end(c)) continue;
            typename L::vec sum[R] = {};
            for (const auto* entry = x.begin(c); entry < x.end(c); entry++) {
                const F factor = F(x.values.get()[entry->place]);
                const F* row = x.dense.get() + entry->row * x.stride + t;
#pragma GCC unroll 8
                for (int i = 0; i < R; i++) sum[i] += factor * L::load(row + i * L::count);
            }
            for (int i = 0; i < R; i++) L::store(sums + i * L::count, sum[i]);
            for (Index i = 0; i < count; i++)
                out[c < dense[i] ? c * x.d + dense[i] : dense[i] * x.d + c] += double(sums[i]);
        }
    }
}

// Adds products of dense columns with each other: every `step`-th panel from the first on.
template <class F>
void add_dense(const SplitRows<F>& x, Index first, Index step, Buffer<F>& scratch, double* out) {
    const Index m = x.columns.count, *dense = x.columns.dense;
    const F* block = x.dense.get();
    for (Index s = first * PANEL_COLUMNS; s < m; s += step * PANEL_COLUMNS) {
        const Index width = min(PANEL_COLUMNS, m - s), rest = m - s - width;
        F *square = scratch.zeros(width * (width + rest)), *right = square + width * width;
        add_products<F>(Matrix<const F>{block + s, x.height, width, x.stride}, square);
        const Matrix<const F> panel{block + s, x.height, width, x.stride};
        multiply<F>(panel.transpose(), {block + s + width, x.height, rest, x.stride},
                    Matrix<F>{right, width, rest, rest});
        for (Index i = 0; i < width; i++) {
            double* line = out + dense[s + i] * x.d;
            for (Index j = i; j < width; j++) line[dense[s + j]] += double(square[i * width + j]);
            for (Index j = 0; j < rest; j++)
                line[dense[s + width + j]] += double(right[i * rest + j]);
        }
    }
}

template <class F, class T>
void add_split(const WeightedCsr<T>& x, Index part, Index parts, double* out) {
    const Columns columns(x);
    SplitRows<F> rows(columns, x.columns);
    Buffer<F> scratch;
    for (Index start = 0; start < x.rows; start += rows.height) {
        rows.fill(x, start, rows.length(x, start));
        const Index first = rows.cut(part, parts), last = rows.cut(part + 1, parts);
        add_sparse(rows, first, last, out);
        add_across(rows, first, last, out);
        add_dense(rows, part, parts, scratch, out);
    }
}

// Adds one of several parts of all products to the matrix `out` (columns, columns). Sums over the
// rows of a block that are of dense columns are in single precision if that is enough.
template <class T>
void add_sparse_outer(const WeightedCsr<T>& x, bool single, Index part, Index parts, double* out) {
    if (single)
        add_split<float>(x, part, parts, out);
    else
        add_split<double>(x, part, parts, out);
}

}  // namespace
