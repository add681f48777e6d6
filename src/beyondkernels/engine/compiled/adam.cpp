// Mini-batch descent with Adam on the squared error, with L2 regularisation and decoupled decay.
//
// `moments` holds the averages of the gradient and, `apart` numbers further, those of its square. `numbers` has a row for
// every step, in the order in which `Pace` lists them. Otherwise as in descent.cpp.

#define BEYONDKERNELS_ADAM
#include "network.h"

static const int NUMBERS = 10;

class Adam : public Network {
 public:
  using Network::Network;

  int64_t train_by(const float *points, const float *labels, const int64_t *order, int64_t batches, int64_t steps,
                   int64_t apart, const float *numbers, float *losses) {
    for (int64_t t = 0; t < steps; t++) {
      const float *n = numbers + t * NUMBERS;
      const Pace pace = {n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], apart};
      losses[t] = step(points, labels, order + t % batches * b, pace);
      if (!is_finite(losses[t])) return t;
    }
    return steps;
  }
};

extern "C" int64_t bk_adam(const int32_t *shape, float *value, float *moments, const float *rates, const float *points,
                           const float *labels, const int64_t *order, int64_t batches, int64_t steps, int64_t keep,
                           int64_t apart, const float *numbers, float *losses) {
  Adam network(shape, value, value, moments, rates);
  if (keep) network.keep(points, keep);
  return network.train_by(points, labels, order, batches, steps, apart, numbers, losses);
}
