// Mini-batch gradient descent with momentum and weight decay on the squared error.
//
// One call trains one network for many steps; nothing but its own numbers enters, so that it gives the same bits alone
// and beside a thousand others.

#include "network.h"

extern "C" int64_t bk_descent(const int32_t *shape, float *value, float *velocity, const float *rates,
                              const float *points, const float *labels, const int64_t *order, int64_t batches,
                              int64_t steps, const float *learning, const float *momentum, const float *decay,
                              float *losses) {
  Network network(shape, value, value, velocity, rates);
  return network.train(points, labels, order, batches, steps, learning, momentum, decay, losses);
}
