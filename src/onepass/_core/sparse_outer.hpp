// Sums of w x x' over sparse rows, added to the upper triangle of a dense matrix.
//
// Row by row, every product would land in another row of a large matrix. Here all products of one
// row of the matrix come together: column c of the rows says which of them have an entry there, and
// the entries of these rows from c on are added to row c of the matrix, which stays in the cache.
// The entries of a row are read once for each of its columns, so rows are taken in blocks.
#pragma once
#include <algorithm>

#include "api.hpp"
#include "memory.hpp"

namespace {

using onepass::WeightedCsr;

// Of a block of rows: 12 MB, which the last cache holds. With fewer, the matrix would be read and
// written more often than is gained.
constexpr Index OUTER_ENTRIES = 1 << 20;

// Where in the data the entries of the columns first..last-1 are, column by column, by ascending row.
// Rows of weight zero have none. The columns of a row ascend.
class ColumnEntries {
public:
    struct Entry {
        Index row, place;  // its value is data[place]
    };

    template <class T, class I>
    ColumnEntries(const WeightedCsr<T, I>& x, Index first, Index last) {
        ends = counts.zeros(last - first + 1);
        auto each = [&](auto use) {
            for (Index row = 0; row < x.rows; row++) {
                if (x.weights[row] == 0.0) continue;
                const I* stop = x.indices + x.starts[row + 1];
                const I* index = std::lower_bound(x.indices + x.starts[row], stop, first);
                for (; index < stop && *index < last; index++)
                    use(*index - first, Entry{row, Index(index - x.indices)});
            }
        };
        Index total = 0;
        each([&](Index c, const Entry&) { ends[c + 1]++, total++; });
        for (Index c = 1; c <= last - first; c++) ends[c] += ends[c - 1];
        entries.reserve(total);  // ends[c] is where column c begins, until all of it is there
        each([&](Index c, const Entry& entry) { entries.get()[ends[c]++] = entry; });
    }

    const Entry* begin(Index c) const { return entries.get() + (c > 0 ? ends[c - 1] : 0); }
    const Entry* end(Index c) const { return entries.get() + ends[c]; }

private:
    Buffer<Index> counts;
    Buffer<Entry> entries;
    Index* ends;
};

// Asks for the first cache lines of what is read next; the processor sees by itself how it goes on.
inline void fetch(const void* begin) {
    constexpr int LINE = 64, LINES = 8;  // bytes, and as many lines as arrive during one row
    for (int line = 0; line < LINES; line++)
        __builtin_prefetch(static_cast<const char*>(begin) + line * LINE);
}

template <class T, class I>
void add_block(const WeightedCsr<T, I>& x, Index first, Index last, double* out) {
    const ColumnEntries columns(x, first, last);
    for (Index c = 0; c < last - first; c++) {
        double* line = out + (first + c) * x.columns;
        for (const auto* entry = columns.begin(c); entry < columns.end(c); entry++) {
            const double factor = x.weights[entry->row] * double(x.data[entry->place]);
            const Index stop = x.starts[entry->row + 1];
            if (entry + 1 < columns.end(c)) {
                fetch(x.data + entry[1].place);
                fetch(x.indices + entry[1].place);
            }
            for (Index p = entry->place; p < stop; p++)
                line[x.indices[p]] += factor * double(x.data[p]);
        }
    }
}

// Adds to the rows first..last-1 of the matrix `out` (columns, columns). Each of its entries is a
// sum over the rows in their order, whatever the range: parts of the matrix can be filled at the
// same time, with the same bits.
template <class T, class I>
void add_sparse_outer(const WeightedCsr<T, I>& x, Index first, Index last, double* out) {
    for (Index from = 0, to = 0; from < x.rows; from = to) {
        while (to < x.rows && (to == from || x.starts[to + 1] - x.starts[from] <= OUTER_ENTRIES))
            to++;
        add_block<T, I>(
            {to - from, x.columns, x.starts + from, x.indices, x.data, x.weights + from}, first,
            last, out);
    }
}

}  // namespace
