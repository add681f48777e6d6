// Mini-batch gradient descent with momentum and weight decay on the squared error.
//
// One call trains one network for many steps; nothing but its own numbers enters, so that it gives the same bits alone
// and beside a thousand others.

#include "linearised.h"
#include "network.h"

// Trains for some steps; returns how many were taken before a loss was not finite, which is then the last one written.
// The batches of the steps are in `order`; where there are fewer than steps, they come again. With `at` the network is
// linearised there and `value` is the distance from it; `keep` is how many points it may keep, all or none.
extern "C" int64_t bk_descent(const int32_t *shape, const float *at, float *value, float *velocity, const float *rates,
                              const float *points, const float *labels, const int64_t *order, int64_t batches,
                              int64_t steps, int64_t keep, const float *learning, const float *momentum, const float *decay,
                              float *losses) {
  const auto train = [&](Network &&network) {
    const int b = shape[5];
    for (int64_t t = 0; t < steps; t++) {
      losses[t] = network.step(points, labels, order + t % batches * b, learning[t], momentum[t], decay[t]);
      if (!is_finite(losses[t])) return t;
    }
    return steps;
  };
  return at ? train(Linearised(shape, at, value, velocity, rates, points, keep))
            : train(Network(shape, value, value, velocity, rates));
}

extern "C" int32_t bk_lanes() { return LANES; }
