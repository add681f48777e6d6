// Mini-batch gradient descent as in descent.cpp, on a network linearised where it started.

#include "linearised.h"

// `value` is the distance from `at`.
extern "C" int64_t bk_linearised(const int32_t *shape, float *value, float *velocity, const float *rates,
                                 const float *points, const float *labels, const int64_t *order, int64_t batches,
                                 int64_t steps, int64_t keep, const float *learning, const float *momentum,
                                 const float *decay, float *losses, const float *at) {
  Linearised network(shape, at, value, velocity, rates);
  if (keep) network.keep(points, keep);
  return network.train(points, labels, order, batches, steps, learning, momentum, decay, losses);
}
