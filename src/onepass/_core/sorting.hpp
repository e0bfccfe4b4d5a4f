#pragma once
#include "vec.hpp"

namespace {

// Writes the indices that put values[:n] in descending order, stably. A merge sort from the bottom
// up that leaves alone what is in order: O(n) where at most the last value is out of place.
inline void sort_descending(Index n, const double* values, Index* order, Index* spare) {
    bool sorted = true;
    for (Index i = 0; i < n; i++) {
        order[i] = i;
        sorted = sorted && (i == 0 || values[i - 1] >= values[i]);
    }
    for (Index width = sorted ? n : 1; width < n; width *= 2)
        for (Index start = 0; start + width < n; start += 2 * width) {
            const Index middle = start + width, stop = min(middle + width, n);
            if (!(values[order[middle - 1]] < values[order[middle]])) continue;
            for (Index i = start; i < middle; i++) spare[i] = order[i];
            for (Index left = start, right = middle, to = start; left < middle; to++) {
                const bool take_right = right < stop && values[order[right]] > values[spare[left]];
                order[to] = take_right ? order[right++] : spare[left++];
            }
        }
}

}  // namespace
