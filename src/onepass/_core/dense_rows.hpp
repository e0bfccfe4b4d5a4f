// Rows of a dense array about a point: measured along directions, and their outer products added.
// Both take a few rows at a time, centred, from the cache: no centred copy of all rows is made.
#pragma once
#include "api.hpp"
#include "blas.hpp"
#include "memory.hpp"
#include "tiles.hpp"

namespace {

using onepass::MeasureTask;
using onepass::PointRows;

constexpr Index MEASURED_BYTES = 1 << 17;  // of rows that are measured while they are in the cache

// out (d,) = factor (x - origin) / scale for row i.
template <class T>
inline void copy_row(const PointRows<T>& x, Index i, T factor, T* __restrict out) {
    const T* __restrict row = x.data + i * x.row_stride, * __restrict origin = x.origin;
    const Index d = x.d, stride = x.column_stride;
    if (stride == 1)
        for (Index c = 0; c < d; c++) out[c] = factor * (row[c] - origin[c]);
    else
        for (Index c = 0; c < d; c++) out[c] = factor * (row[c * stride] - origin[c]);
    if (x.scale)
        for (Index c = 0; c < d; c++) out[c] /= x.scale[c];
}

// The squared norm of a row (d,), by four sums that do not wait for each other.
template <class T>
double squared_norm(const T* row, Index d) {
    using L = Lanes<T>;
    typename L::vec sums[4] = {};
    Index c = 0;
    for (; c + 4 * L::count <= d; c += 4 * L::count)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const auto part = L::load(row + c + i * L::count);
            sums[i] += part * part;
        }
    double sum = L::total((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; c < d; c++) sum = fused(row[c], row[c], sum);
    return sum;
}

// Writes squared distances from a point, and how much of them directions capture: the squares of
// products with x - point, which are those with x less those of the point.
template <class T>
void measure(const MeasureTask<T>& task) {
    const Index r = task.x.r, d = task.x.d, count = 1 + task.k;
    const Index stride = (count + Lanes<T>::count - 1) / Lanes<T>::count * Lanes<T>::count;
    const Index block = max(TILE, MEASURED_BYTES / Index(sizeof(T)) / d / TILE * TILE);
    Buffer<T> turned, room(block * d), found(block * stride);
    T* columns = turned.zeros(d * stride);  // the point and the directions are its columns
    Buffer<double> offsets;                 // their products with the point
    double* offset = offsets.zeros(count);
    for (Index j = 0; j < count; j++) {
        const T* vector = j ? task.directions + (j - 1) * d : task.point;
        for (Index c = 0; c < d; c++) {
            columns[c * stride + j] = vector[c];
            offset[j] += double(vector[c]) * double(task.point[c]);
        }
    }
    for (Index start = 0; start < r; start += block) {
        const Index height = min(block, r - start);
        T *rows = room.get(), *products = found.get();
        for (Index i = 0; i < height; i++) copy_row(task.x, start + i, T(1), rows + i * d);
        combine(rows, height, Stack<T>{columns, d, columns, 0, stride}, products);
        for (Index i = 0; i < height; i++) {
            const T* inner = products + i * stride;
            const double energy = squared_norm(rows + i * d, d);
            task.distances[start + i] = max(energy - 2.0 * inner[0] + offset[0], 0.0);
            double sum = 0.0;
            for (Index j = 1; j < count; j++) {
                const double part = inner[j] - offset[j];
                sum = fused(part, part, sum);
            }
            task.captured[start + i] = sum;
        }
    }
}

// Adds w x x' over the rows of positive weight to the upper triangle of `out` (d, d), and w x to
// `total` (d,): of these rows in tiles of some length, those of every `step`-th tile.
template <class T>
void add_outer(const PointRows<T>& x, const double* weights, const onepass::Share& share, T* out,
               double* total) {
    const Index d = x.d;
    Buffer<T> room(share.length * d);
    T* tile = room.get();
    double* __restrict sums = total;
    Index tile_number = 0, height = 0, filled = 0;  // rows in the tile, and those that are copied
    auto end_tile = [&] {
        add_products<T>(Matrix<const T>{tile, filled, d, d}, out);
        tile_number++, height = 0, filled = 0;
    };
    for (Index i = 0; i < x.r; i++) {
        if (!(weights[i] > 0.0)) continue;
        if (tile_number % share.step == share.first) {
            T* __restrict row = tile + filled++ * d;
            const double root = sqrt(weights[i]);
            copy_row(x, i, T(root), row);
            for (Index c = 0; c < d; c++) sums[c] += root * row[c];
        }
        if (++height == share.length) end_tile();
    }
    end_tile();
}

}  // namespace
