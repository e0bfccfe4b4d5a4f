// Products of small matrices: plain loops where they are tiny, SciPy's BLAS where they are not.
// The pointers come from scipy.linalg.cython_blas.__pyx_capi__: nothing has to be linked.
#pragma once
#include "vec.hpp"

namespace onepass {
template <class T>
using Gemm = void(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);
template <class T>
using Syrk = void(char*, char*, int*, int*, T*, T*, int*, T*, T*, int*);
using Dtrsm = void(char*, char*, char*, char*, int*, int*, double*, double*, int*, double*, int*);
struct Blas {
    Gemm<double>* dgemm;
    Gemm<float>* sgemm;
    Syrk<double>* dsyrk;
    Syrk<float>* ssyrk;
    Dtrsm* dtrsm;
};
extern Blas blas;  // set when the module is imported
}  // namespace onepass

namespace {

constexpr Index BLAS_PRODUCTS = 20 * 20 * 20;  // from here on a call is worth its overhead

// A matrix in memory; `transposed` says that what is meant has rows and columns exchanged.
template <class T>
struct Matrix {
    T* data;
    Index rows, columns, stride;
    bool transposed = false;

    Index width() const { return transposed ? rows : columns; }
    Matrix transpose() const { return {data, rows, columns, stride, !transposed}; }
};

inline onepass::Gemm<double>* gemm_of(double) { return onepass::blas.dgemm; }
inline onepass::Gemm<float>* gemm_of(float) { return onepass::blas.sgemm; }

inline onepass::Syrk<double>* syrk_of(double) { return onepass::blas.dsyrk; }
inline onepass::Syrk<float>* syrk_of(float) { return onepass::blas.ssyrk; }

// Adds rows' rows to the upper triangle of `out` (columns, columns).
template <class T>
void add_products(const Matrix<const T>& rows, T* out) {
    if (rows.rows == 0 || rows.columns == 0) return;
    char triangle = 'L', transposed = 'N';  // of columns, where we mean rows
    int size = int(rows.columns), inner = int(rows.rows), stride = int(rows.stride);
    T one = T(1);
    syrk_of(one)(&triangle, &transposed, &size, &inner, &one, const_cast<T*>(rows.data), &stride,
                 &one, out, &size);
}

// out = left right + beta out, with beta 0 or 1; out must not overlap the others.
template <class T>
void multiply(const Matrix<const T>& left, const Matrix<const T>& right, const Matrix<T>& out,
              double beta = 0.0) {
    const Index m = out.rows, n = out.columns, k = left.width();
    if (m == 0 || n == 0) return;
    if (m * n * k >= BLAS_PRODUCTS) {  // BLAS means columns where we mean rows
        char a_turned = right.transposed ? 'T' : 'N', b_turned = left.transposed ? 'T' : 'N';
        int height = int(n), width = int(m), inner = int(k);
        int a_stride = int(right.stride), b_stride = int(left.stride), stride = int(out.stride);
        T one = T(1), factor = T(beta);
        gemm_of(one)(&a_turned, &b_turned, &height, &width, &inner, &one,
                     const_cast<T*>(right.data), &a_stride, const_cast<T*>(left.data), &b_stride,
                     &factor, out.data, &stride);
        return;
    }
    const Index left_row = left.transposed ? 1 : left.stride;
    const Index left_column = left.transposed ? left.stride : 1;
    for (Index i = 0; i < m; i++) {
        T* __restrict line = out.data + i * out.stride;
        if (beta == 0.0)
            for (Index j = 0; j < n; j++) line[j] = T(0);
        for (Index p = 0; p < k; p++) {
            const T factor = left.data[i * left_row + p * left_column];
            if (right.transposed)
                for (Index j = 0; j < n; j++) line[j] += factor * right.data[j * right.stride + p];
            else
                for (Index j = 0; j < n; j++) line[j] += factor * right.data[p * right.stride + j];
        }
    }
}

enum class Solve { left, right, right_transposed };  // inv(L) rows, rows inv(L), rows inv(L')

// Solves for rows with a lower triangle L (n, n), in place. What is lower here is upper in BLAS.
inline void solve_triangle(Solve what, const double* L, Index n, const Matrix<double>& rows) {
    if (n == 0 || rows.rows == 0) return;
    char side = what == Solve::left ? 'R' : 'L', triangle = 'U', diagonal = 'N';
    char transposed = what == Solve::right_transposed ? 'T' : 'N';
    int height = int(rows.columns), width = int(rows.rows), size = int(n),
        stride = int(rows.stride);
    double one = 1.0;
    onepass::blas.dtrsm(&side, &triangle, &transposed, &diagonal, &height, &width, &one,
                        const_cast<double*>(L), &size, rows.data, &stride);
}

}  // namespace
