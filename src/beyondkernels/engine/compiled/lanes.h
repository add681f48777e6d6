// Vectors of floats, by the extension that GCC and Clang share: no instruction set is named.

#ifndef BEYONDKERNELS_LANES_H
#define BEYONDKERNELS_LANES_H

#include <cstdint>

#define LANES 8

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t Mask __attribute__((vector_size(4 * LANES)));
typedef float AnyLanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define UNROLL _Pragma("GCC unroll 16")
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Mask{__VA_ARGS__})
#endif

INLINE Lanes load(const float *p) { return *(const AnyLanes *)p; }
INLINE void store(float *p, Lanes v) { *(AnyLanes *)p = v; }

// ReLU. What is not a number stays so: a loss has to show it.
INLINE Lanes rectified(Lanes z) { return (Lanes)((Mask)z & ~(z <= Lanes{})); }

INLINE Lanes where_positive(Lanes h, Lanes v) { return (Lanes)((Mask)v & (h > Lanes{})); }

// A square of LANES by LANES, turned over: neighbours change places, then pairs, then halves.
INLINE void transpose_lanes(float *to, int64_t to_stride, const float *from, int64_t from_stride) {
  static_assert(LANES == 8, "three rounds");
  Lanes a[LANES], b[LANES];
  UNROLL for (int i = 0; i < LANES; i++) a[i] = load(from + i * from_stride);
  UNROLL for (int i = 0; i < LANES; i += 2) {
    b[i] = SHUFFLE(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = SHUFFLE(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  UNROLL for (int i = 0; i < LANES; i++) {
    if (i & 2) continue;
    a[i] = SHUFFLE(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 2] = SHUFFLE(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  UNROLL for (int i = 0; i < LANES / 2; i++) {
    store(to + i * to_stride, SHUFFLE(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11));
    store(to + (i + 4) * to_stride, SHUFFLE(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

INLINE bool is_finite(float v) { return __builtin_isfinite(v); }

INLINE int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

#endif
