// Products of small matrices, row-major, whose columns are padded to a multiple of the vector length.

#ifndef BEYONDKERNELS_PRODUCTS_H
#define BEYONDKERNELS_PRODUCTS_H

#include "lanes.h"

// A product starts from what is there, or in every row from one row: of biases, or of zeros.
enum Begin { ADD, ROW };

// The left factor of a product, or its transpose: L(r, p) = data[r * by_row + p * by_inner].
struct Left {
  const float *data;
  int64_t by_row, by_inner;
};

// ROWS rows and VECTORS vectors of C = begin + L · R, kept in registers from the first term to the last.
template <int ROWS, int VECTORS, Begin BEGIN>
INLINE void tile(float *C, int64_t n, Left L, const float *R, int inner, const float *row) {
  Lanes sum[ROWS][VECTORS];
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++)
      sum[r][v] = load(BEGIN == ADD ? C + r * n + v * LANES : row + v * LANES);
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

template <int ROWS, int VECTORS, Begin BEGIN>
INLINE int tiles(int r, float *C, int64_t n, Left L, const float *R, int rows, int inner, const float *row) {
  for (; r + ROWS <= rows; r += ROWS)
    tile<ROWS, VECTORS, BEGIN>(C + r * n, n, {L.data + r * L.by_row, L.by_row, L.by_inner}, R, inner, row);
  return r;
}

template <int VECTORS, Begin BEGIN>
INLINE void strip(float *C, int64_t n, Left L, const float *R, int rows, int inner, const float *row) {
  int r = tiles<(VECTORS == 3 ? 8 : 10), VECTORS, BEGIN>(0, C, n, L, R, rows, inner, row);
  r = tiles<5, VECTORS, BEGIN>(r, C, n, L, R, rows, inner, row);
  tiles<1, VECTORS, BEGIN>(r, C, n, L, R, rows, inner, row);
}

// C[rows, n] = begin + L[rows, inner] · R[inner, n], n a multiple of LANES.
template <Begin BEGIN>
static void product(float *C, Left L, const float *R, int rows, int inner, int64_t n, const float *row) {
  for (int64_t c = 0; c < n;) {
    const int64_t left = (n - c) / LANES;
    const float *at = BEGIN == ROW ? row + c : nullptr;
    if (left == 3) {
      strip<3, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += 3 * LANES;
    } else if (left >= 2) {
      strip<2, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += 2 * LANES;
    } else {
      strip<1, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += LANES;
    }
  }
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
