// Algorithm 2 of the paper on overparameterised networks: descent on a smoothed and penalised objective of W and V.
//
//   out = A relu((V0 + V S + V') relu((W0 + S W + W') x + b1) + b2),   A <- factor A   before the step,
//   W -= rate (grad W + 4 penalty_w |w_j|^2 w_j - xi_w),   V -= rate (grad V + 2 penalty_v V - xi_v),
//
// where W and V are the distances from the start, S is a diagonal of signs, W' and V' smooth and xi is added noise.
// `draws` has the addresses of the random numbers of every step, in the order of `Draw`; zero where there are none. The
// noise has a row for each neuron. `numbers` has a row for every step, in the order of `Pick`.

#include "network.h"

namespace {

enum Draw { SMOOTHING_W, SMOOTHING_V, NOISE_W, NOISE_V, SIGNS, DRAWS };
enum Pick { RATE, FACTOR, PENALTY_W, PENALTY_V, NUMBERS };

class Smoothed : public Network {
 public:
  // `seen` becomes where the network is evaluated, `gradient` the gradient there; `neurons` are those before the padding.
  Smoothed(const int32_t *shape, float *value, const float *start, float *seen, float *gradient, const float *rates,
           int neurons, float weight)
      : Network(shape, seen, seen, gradient, rates), neurons(neurons), weight(weight), slopes(m),
        signs(m, 1.0f), ones(m, 1.0f) {
    for (int l = 0; l <= hidden; l++) {
      const int64_t before = layers[l].at - layers[0].at;
      values.push_back(value + before);
      starts.push_back(start + before);
      noises.emplace_back(layers[l].count);
    }
  }

  int64_t train_by(const float *points, const float *labels, const int64_t *order, int64_t batches, int64_t steps,
                   const float *const *draws, const float *numbers, float *losses) {
    for (int64_t t = 0; t < steps; t++) {
      losses[t] = step_by(points, labels, order + t % batches * b, draws + t * DRAWS, numbers + t * NUMBERS);
      if (!is_finite(losses[t])) return t;
    }
    return steps;
  }

 private:
  int neurons;
  float weight;  // of the loss
  std::vector<float *> values;
  std::vector<const float *> starts;
  std::vector<Floats> noises;
  Floats slopes, signs, ones;

  float step_by(const float *points, const float *labels, const int64_t *batch, const float *const *draws,
                const float *number) {
    for (int64_t i = 0; i < layers[hidden].count; i++) layers[hidden].value[i] = values[hidden][i] *= number[FACTOR];
    if (draws[SIGNS]) std::copy_n(draws[SIGNS], neurons, signs.begin());
    look(0, draws[SMOOTHING_W]);
    look(1, draws[SMOOTHING_V]);
    const float loss = step(points, labels, batch, {0, 0, 0});  // nothing moves: the gradient is left as the velocity
    if (!is_finite(loss)) return loss;
    const float w = descend_w(draws[NOISE_W], number), v = descend_v(draws[NOISE_V], number);
    return weight * loss + number[PENALTY_W] * w + number[PENALTY_V] * v;
  }

  // Calls one(a number's place, its sign, its neuron) for all numbers of a layer. W has the signs of its neurons, V
  // those of its inputs.
  template <typename One>
  void all(int l, One one) {
    const float *columns = (l == 0 ? signs : ones).data();
    for (int r = 0; r < inputs(l); r++) {
      const float row = l == 0 ? 1.0f : signs[r];
      for (int j = 0; j < m; j++) one((int64_t)r * m + j, row * columns[j], j);
    }
  }

  // Noise in the order of the layer, zero in the padding and where nothing is drawn.
  const float *as_layer(int l, const float *drawn) {
    float *to = noises[l].data();
    if (drawn)
      transpose(to, m, drawn, neurons, l == 0 ? d : neurons);
    else
      std::fill(noises[l].begin(), noises[l].end(), 0.0f);
    return to;
  }

  void look(int l, const float *drawn) {
    const float *added = as_layer(l, drawn), *value = values[l], *start = starts[l];
    float *seen = layers[l].value;
    all(l, [&](int64_t i, float sign, int) { seen[i] = start[i] + sign * (value[i] - start[i]) + added[i]; });
  }

  // The steps of W and V; they return |W|^4 in the norm (2, 4) and |V|^2 in that of Frobenius.
  float descend_w(const float *drawn, const float *number) {
    const float *value = values[0], *start = starts[0];
    float norm = 0;
    std::fill(slopes.begin(), slopes.end(), 0.0f);
    for (int r = 0; r < d; r++)
      for (int j = 0; j < m; j++) {
        const float moved = value[(int64_t)r * m + j] - start[(int64_t)r * m + j];
        slopes[j] += moved * moved;
      }
    for (float &slope : slopes) {
      norm += slope * slope;
      slope *= 4 * number[PENALTY_W];
    }
    descend(0, drawn, number[RATE]);
    return norm;
  }

  float descend_v(const float *drawn, const float *number) {
    const float *value = values[1], *start = starts[1];
    float norm = 0;
    for (int64_t r = 0; r < m; r++) {
      Lanes sum = {};
      for (int j = 0; j < m; j += LANES) {
        const Lanes moved = load(value + r * m + j) - load(start + r * m + j);
        sum += moved * moved;
      }
      for (int j = 0; j < LANES; j++) norm += sum[j];
    }
    std::fill(slopes.begin(), slopes.end(), 2 * number[PENALTY_V]);
    descend(1, drawn, number[RATE]);
    return norm;
  }

  // A step, given for every neuron the slope of the penalty as a multiple of the neuron's weights.
  void descend(int l, const float *drawn, float rate) {
    const float *xi = as_layer(l, drawn), *start = starts[l], *gradient = layers[l].velocity;
    const float *slope = slopes.data();
    float *value = values[l];
    all(l, [=](int64_t i, float sign, int j) {
      value[i] -= rate * (weight * sign * gradient[i] + slope[j] * (value[i] - start[i]) - xi[i]);
    });
  }
};

}  // namespace

extern "C" int64_t bk_smoothed(const int32_t *shape, float *value, float *gradient, const float *rates,
                               const float *points, const float *labels, const int64_t *order, int64_t batches,
                               int64_t steps, int64_t, const float *start, float *seen, int64_t neurons, float weight,
                               const float *const *draws, const float *numbers, float *losses) {
  Smoothed network(shape, value, start, seen, gradient, rates, (int)neurons, weight);
  return network.train_by(points, labels, order, batches, steps, draws, numbers, losses);
}
