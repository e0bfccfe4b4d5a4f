// What a kernel throws besides std::bad_alloc.
#pragma once
#include <cstddef>

namespace onepass {
struct BasisError {};                     // the rows of the basis are far from orthonormal
struct RowError { std::ptrdiff_t row; };  // a row is not finite, or its squared norm is not
struct IterateError {};                   // the iterate is not finite
}  // namespace onepass
