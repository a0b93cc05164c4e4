// A BLAS that is not OpenBLAS, for tests/cli/compare_test.py to preload: the
// functions that the program calls, as plain loops (columns are contiguous).
#define MULTIPLY(NAME, REAL)                                                  \
  void NAME##gemm_(const char *trans_a, const char *trans_b, const int *m,    \
                   const int *n, const int *k, const REAL *alpha,             \
                   const REAL *a, const int *lda, const REAL *b,              \
                   const int *ldb, const REAL *beta, REAL *c,                 \
                   const int *ldc) {                                          \
    for (int i = 0; i < *m; ++i) {                                            \
      for (int j = 0; j < *n; ++j) {                                          \
        REAL sum = 0;                                                         \
        for (int l = 0; l < *k; ++l) {                                        \
          sum += (*trans_a == 'N' ? a[i + l * *lda] : a[l + i * *lda]) *      \
                 (*trans_b == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);       \
        }                                                                     \
        REAL *out = c + i + j * *ldc;                                         \
        *out = *alpha * sum + (*beta == 0 ? 0 : *beta * *out);                \
      }                                                                       \
    }                                                                         \
  }                                                                           \
  void NAME##gemv_(const char *trans, const int *m, const int *n,             \
                   const REAL *alpha, const REAL *a, const int *lda,          \
                   const REAL *x, const int *incx, const REAL *beta, REAL *y, \
                   const int *incy) {                                         \
    const int rows = *trans == 'N' ? *m : *n;                                 \
    const int columns = *trans == 'N' ? *n : *m;                              \
    for (int i = 0; i < rows; ++i) {                                          \
      REAL sum = 0;                                                           \
      for (int j = 0; j < columns; ++j) {                                     \
        sum += (*trans == 'N' ? a[i + j * *lda] : a[j + i * *lda]) *          \
               x[j * *incx];                                                  \
      }                                                                       \
      REAL *out = y + i * *incy;                                              \
      *out = *alpha * sum + (*beta == 0 ? 0 : *beta * *out);                  \
    }                                                                         \
  }

MULTIPLY(s, float)
MULTIPLY(d, double)
