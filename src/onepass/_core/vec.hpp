// A few numbers at once: the vector types of GCC and Clang, which have + - * / < > and ?: of their
// own. Everything lives in unnamed namespaces, and mathematics comes from <math.h>: no inline
// function that is compiled for one instruction set may be linked into the code of another.
#pragma once
#include <math.h>

#include <cstddef>

namespace {

using Index = std::ptrdiff_t;

// A register of AVX-512, of AVX, or of SSE2 and NEON.
#ifdef __AVX512F__
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif

template <class T>
struct Lanes {
    static constexpr int count = REGISTER_BYTES / sizeof(T);
    typedef T vec __attribute__((vector_size(REGISTER_BYTES)));
    typedef T unaligned
        __attribute__((vector_size(REGISTER_BYTES), aligned(alignof(T)), may_alias));
    static inline vec load(const T* p) { return *reinterpret_cast<const unaligned*>(p); }
    static inline void store(T* p, vec v) { *reinterpret_cast<unaligned*>(p) = v; }
    static inline vec spread(T x) { return x - vec{}; }
    // The sum of all lanes, halves first.
    static inline double total(vec v) {
        T part[count];
        for (int i = 0; i < count; i++) part[i] = v[i];
        for (int half = count / 2; half > 0; half /= 2)
            for (int i = 0; i < half; i++) part[i] += part[i + half];
        return part[0];
    }
};

using Doubles = Lanes<double>;
using vec = Doubles::vec;
constexpr int LANES = Doubles::count;

inline vec load(const double* p) { return Doubles::load(p); }
inline void store(double* p, vec v) { Doubles::store(p, v); }
inline vec spread(double x) { return Doubles::spread(x); }
inline double total(vec v) { return Doubles::total(v); }
inline vec larger(vec a, vec b) { return a > b ? a : b; }
inline vec smaller(vec a, vec b) { return a < b ? a : b; }
inline vec if_positive(vec test, vec yes, vec no) { return test > 0.0 ? yes : no; }
inline vec square_root(vec v) {
    vec r;
    for (int i = 0; i < LANES; i++) r[i] = sqrt(v[i]);
    return r;
}

// a b + c, rounded once where the machine can. The compiler does that by itself, but not in sums
// over a loop, which it may take apart: said like this, all compilers give the same bits.
inline double fused(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

inline bool all_within(vec v, double limit) {
    bool all = true;
    for (int i = 0; i < LANES; i++) all &= v[i] <= limit;
    return all;
}

// The least multiple of LANES that is not below n: rows of small matrices are padded to it.
inline Index padded(Index n) { return (n + LANES - 1) / LANES * LANES; }
inline Index min(Index a, Index b) { return a < b ? a : b; }
inline Index max(Index a, Index b) { return a > b ? a : b; }
inline double min(double a, double b) { return a < b ? a : b; }
inline double max(double a, double b) { return a > b ? a : b; }

}  // namespace
