// Mini-batch gradient descent with momentum and weight decay on the squared error.
//
// One call trains one network for many steps; nothing but its own numbers enters, so that it gives the same bits alone
// and beside a thousand others. `keep` is how many points it may keep, all or none.

#include "network.h"

extern "C" int64_t bk_descent(const int32_t *shape, float *value, float *velocity, const float *rates,
                              const float *points, const float *labels, const int64_t *order, int64_t batches,
                              int64_t steps, int64_t keep, const float *learning, const float *momentum,
                              const float *decay, float *losses) {
  Network network(shape, value, value, velocity, rates);
  if (keep) network.keep(points, keep);
  return network.train(points, labels, order, batches, steps, learning, momentum, decay, losses);
}
