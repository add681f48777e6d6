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
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE Lanes load(const float *p) { return *(const AnyLanes *)p; }
INLINE void store(float *p, Lanes v) { *(AnyLanes *)p = v; }

// ReLU. What is not a number stays so: a loss has to show it.
INLINE Lanes rectified(Lanes z) { return (Lanes)((Mask)z & ~(z <= Lanes{})); }

INLINE Lanes where_positive(Lanes h, Lanes v) { return (Lanes)((Mask)v & (h > Lanes{})); }

INLINE bool is_finite(float v) { return __builtin_isfinite(v); }

INLINE int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

#endif
