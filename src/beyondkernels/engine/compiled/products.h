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

// ROWS rows and VECTORS vectors of C = begin + L · R, kept in registers from the first term to the last. A row of C lies
// n numbers behind the one before, a row of R by_inner.
template <int ROWS, int VECTORS>
INLINE void tile(float *C, int64_t n, Left L, const float *R, int64_t by_inner, int inner, Begin begin) {
  Lanes sum[ROWS][VECTORS];
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = load(begin.data + r * begin.by_row + v * LANES);
  for (int p = 0; p < inner; p++) {
    Lanes right[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) right[v] = load(R + p * by_inner + v * LANES);
    UNROLL for (int r = 0; r < ROWS; r++) {
      const float left = L.data[r * L.by_row + p * L.by_inner];
      UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] += left * right[v];
    }
  }
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++) store(C + r * n + v * LANES, sum[r][v]);
}

template <int ROWS, int VECTORS>
INLINE int tiles(int r, float *C, int64_t n, Left L, const float *R, int64_t by_inner, int rows, int inner,
                 Begin begin) {
  for (; r + ROWS <= rows; r += ROWS)
    tile<ROWS, VECTORS>(C + r * n, n, {L.data + r * L.by_row, L.by_row, L.by_inner}, R, by_inner, inner,
                        {begin.data + r * begin.by_row, begin.by_row});
  return r;
}

template <int VECTORS>
static void strip(float *C, int64_t n, Left L, const float *R, int64_t by_inner, int rows, int inner, Begin begin) {
  // ten rows of three vectors would not fit the registers
  int r = VECTORS == 3 ? 0 : tiles<10, VECTORS>(0, C, n, L, R, by_inner, rows, inner, begin);
  r = tiles<5, VECTORS>(r, C, n, L, R, by_inner, rows, inner, begin);
  tiles<1, VECTORS>(r, C, n, L, R, by_inner, rows, inner, begin);
}

// Calls one(first column, how many vectors) for strips of n columns, n a multiple of LANES.
template <typename One>
INLINE void in_strips(int64_t n, One one) {
  for (int64_t c = 0; c < n;) {
    const int64_t left = (n - c) / LANES;
    const int vectors = left == 3 ? 3 : left >= 2 ? 2 : 1;
    one(c, vectors);
    c += vectors * LANES;
  }
}

INLINE void strip_of(int vectors, float *C, int64_t n, Left L, const float *R, int64_t by_inner, int rows, int inner,
                     Begin begin) {
  if (vectors == 3)
    strip<3>(C, n, L, R, by_inner, rows, inner, begin);
  else if (vectors == 2)
    strip<2>(C, n, L, R, by_inner, rows, inner, begin);
  else
    strip<1>(C, n, L, R, by_inner, rows, inner, begin);
}

// The same for a right factor that no cache near the processor holds: its strips are brought together a part at a time,
// by fill(to, first column, columns, first row, rows). Sums go on where the part before left them: no bit changes.
template <typename Fill>
static void product_in_parts(float *C, Left L, int rows, int inner, int64_t n, Begin begin, Fill fill) {
  const int most = 256;
  alignas(64) float part[most * 3 * LANES];
  in_strips(n, [&](int64_t c, int vectors) {
    const int columns = vectors * LANES;
    for (int p = 0; p < inner; p += most) {
      const int size = inner - p < most ? inner - p : most;
      fill(part, c, columns, p, size);
      strip_of(vectors, C + c, n, {L.data + p * L.by_inner, L.by_row, L.by_inner}, part, columns, rows, size,
               p ? Begin{C + c, n} : Begin{begin.data + c, begin.by_row});
    }
  });
}

// Whether a factor of so many rows and columns is taken in parts: one strip of it would fill the nearest cache.
INLINE bool is_large(int inner, int64_t n) { return inner >= 256 && n >= 256; }

// C[rows, n] = begin + L[rows, inner] · R[inner, n], n a multiple of LANES.
static void product(float *C, Left L, const float *R, int rows, int inner, int64_t n, Begin begin) {
  if (is_large(inner, n)) {
    product_in_parts(C, L, rows, inner, n, begin, [&](float *to, int64_t c, int columns, int p, int size) {
      for (int i = 0; i < size; i++)
        for (int j = 0; j < columns; j += LANES) store(to + i * columns + j, load(R + (p + i) * n + c + j));
    });
    return;
  }
  in_strips(n, [&](int64_t c, int vectors) {
    strip_of(vectors, C + c, n, L, R + c, n, rows, inner, {begin.data + c, begin.by_row});
  });
}

// C += L · R.
static inline void add_product(float *C, Left L, const float *R, int rows, int inner, int64_t n) {
  product(C, L, R, rows, inner, n, {C, n});
}

// C[rows, n] = begin + L[rows, inner] · Rᵀ, where R[n, inner], inner and n multiples of LANES.
static void product_transposed(float *C, Left L, const float *R, int rows, int inner, int64_t n, Begin begin) {
  product_in_parts(C, L, rows, inner, n, begin, [&](float *to, int64_t c, int columns, int p, int size) {
    for (int j = 0; j < columns; j += LANES)
      for (int i = 0; i < size; i += LANES)
        transpose_lanes(to + i * columns + j, columns, R + (c + j) * inner + p + i, inner);
  });
}

// to[column, row] = from[row, column]: whole squares at once, what remains one by one.
static inline void transpose(float *to, int64_t stride, const float *from, int rows, int columns) {
  const int across = columns / LANES * LANES;
  for (int r = 0; r < rows; r++) {
    const bool square = r % LANES == 0 && r + LANES <= rows;
    for (int c = 0; square && c < across; c += LANES)
      transpose_lanes(to + c * stride + r, stride, from + (int64_t)r * columns + c, columns);
    const int first = r < rows / LANES * LANES ? across : 0;
    for (int c = first; c < columns; c++) to[c * stride + r] = from[(int64_t)r * columns + c];
  }
}

// What is not a number stays so: a loss has to show it.
static inline void relu(float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) h[i] = h[i] <= 0 ? 0 : h[i];
}

static inline void where_active(float *change, const float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) change[i] = h[i] > 0 ? change[i] : 0;
}

#endif
