// Mini-batch gradient descent as in descent.cpp, on a network linearised where it started.

#include "linearised.h"

// `value` is the distance from `at`, where the network is linearised; `keep` is how many points it may keep, all or none.
extern "C" int64_t bk_linearised(const int32_t *shape, float *value, float *velocity, const float *rates,
                                 const float *points, const float *labels, const int64_t *order, int64_t batches,
                                 int64_t steps, const float *learning, const float *momentum, const float *decay,
                                 float *losses, const float *at, int64_t keep) {
  Linearised network(shape, at, value, velocity, rates, points, keep);
  return network.train(points, labels, order, batches, steps, learning, momentum, decay, losses);
}
