// Products of small matrices, row-major, whose columns are padded to a multiple of the vector length.

#ifndef BEYONDKERNELS_PRODUCTS_H
#define BEYONDKERNELS_PRODUCTS_H

#include "lanes.h"

// What a product is added to: a matrix, or in every row one row (of biases, or of zeros).
struct Begin {
  const float *data;
  int64_t by_row;
};

INLINE Begin every_row(const float *row) { return {row, 0}; }

// The left factor of a product, or its transpose: L(r, p) = data[r * by_row + p * by_inner].
struct Left {
  const float *data;
  int64_t by_row, by_inner;
};

// ROWS rows and VECTORS vectors of C = begin + L · R, kept in registers from the first term to the last.
template <int ROWS, int VECTORS>
INLINE void tile(float *C, int64_t n, Left L, const float *R, int inner, Begin begin) {
  Lanes sum[ROWS][VECTORS];
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = load(begin.data + r * begin.by_row + v * LANES);
  for (int p = 0; p < inner; p++) {
    Lanes right[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) right[v] = load(R + p * n + v * LANES);
    UNROLL for (int r = 0; r < ROWS; r++) {
      const float left = L.data[r * L.by_row + p * L.by_inner];
      UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] += left * right[v];
    }
  }
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++) store(C + r * n + v * LANES, sum[r][v]);
}

template <int ROWS, int VECTORS>
INLINE int tiles(int r, float *C, int64_t n, Left L, const float *R, int rows, int inner, Begin begin) {
  for (; r + ROWS <= rows; r += ROWS)
    tile<ROWS, VECTORS>(C + r * n, n, {L.data + r * L.by_row, L.by_row, L.by_inner}, R, inner,
                        {begin.data + r * begin.by_row, begin.by_row});
  return r;
}

template <int VECTORS>
INLINE void strip(float *C, int64_t n, Left L, const float *R, int rows, int inner, Begin begin) {
  // ten rows of three vectors would not fit the registers
  int r = VECTORS == 3 ? 0 : tiles<10, VECTORS>(0, C, n, L, R, rows, inner, begin);
  r = tiles<5, VECTORS>(r, C, n, L, R, rows, inner, begin);
  tiles<1, VECTORS>(r, C, n, L, R, rows, inner, begin);
}

// C[rows, n] = begin + L[rows, inner] · R[inner, n], n a multiple of LANES.
static void product(float *C, Left L, const float *R, int rows, int inner, int64_t n, Begin begin) {
  for (int64_t c = 0; c < n;) {
    const int64_t left = (n - c) / LANES;
    const Begin at = {begin.data + c, begin.by_row};
    if (left == 3) {
      strip<3>(C + c, n, L, R + c, rows, inner, at);
      c += 3 * LANES;
    } else if (left >= 2) {
      strip<2>(C + c, n, L, R + c, rows, inner, at);
      c += 2 * LANES;
    } else {
      strip<1>(C + c, n, L, R + c, rows, inner, at);
      c += LANES;
    }
  }
}

// C += L · R.
static inline void add_product(float *C, Left L, const float *R, int rows, int inner, int64_t n) {
  product(C, L, R, rows, inner, n, {C, n});
}

static inline void transpose(float *to, int64_t stride, const float *from, int rows, int columns) {  // to[column, row]
  const int block = 16;
  for (int c0 = 0; c0 < columns; c0 += block)
    for (int r = 0; r < rows; r++)
      for (int c = c0; c < c0 + block && c < columns; c++) to[c * stride + r] = from[(int64_t)r * columns + c];
}

// What is not a number stays so: a loss has to show it.
static inline void relu(float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) h[i] = h[i] <= 0 ? 0 : h[i];
}

static inline void where_active(float *change, const float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) change[i] = h[i] > 0 ? change[i] : 0;
}

#endif
