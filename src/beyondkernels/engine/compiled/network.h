// Small ReLU networks: the passes of a batch, forward and back to the gradient of the squared error, and the step.
//
// Hidden layers and outputs are padded to a multiple of the vector length with neurons whose weights are zero and stay
// zero. A layer lies in memory as (inputs + 1, neurons): a row for each input, the biases last. The readout lies as
// (outputs, neurons), its biases behind. Transposed copies of narrow layers serve the products that run over neurons.

#ifndef BEYONDKERNELS_NETWORK_H
#define BEYONDKERNELS_NETWORK_H

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "products.h"

typedef std::vector<float> Floats;

enum Kind { FULLY_CONNECTED = 0, RESNET_FULL = 1, RESNET_BOTTLENECK = 2 };

enum Loss { SQUARED = 0, PSEUDO_HUBER = 1 };

#ifndef BEYONDKERNELS_ADAM
struct Pace {
  float learning_rate, momentum, decay;
};
#else  // the numbers of a step of Adam; the second moments lie so far behind the first
struct Pace {
  float learning_rate, regularised, decay, mean_keep, mean_add, square_keep, square_add, epsilon, mean_weight,
      square_weight;
  int64_t apart;
};
#endif

// One tensor of the network: where it is evaluated, what moves (the same, or its distance from there), and how.
struct Weights {
  const float *at;
  float *value, *velocity;
  int64_t count;  // without biases
  int64_t biases;
  float rate, bias_rate;  // multiples of the learning rate; zero where nothing is trained

  bool trained() const { return rate != 0 || bias_rate != 0; }

  // A step for some of the numbers, given their part of the gradient.
  void descend(int64_t from, int64_t to, const float *g, Pace pace) {
    const float own = from < count ? rate : bias_rate, eta = pace.learning_rate * own;
    if (own == 0) return;
#ifdef BEYONDKERNELS_ADAM
    float *square = velocity + pace.apart;
    for (int64_t i = from; i < to; i++) {
      const float u = g[i - from] + pace.regularised * value[i];
      velocity[i] = pace.mean_keep * velocity[i] + pace.mean_add * u;
      square[i] = pace.square_keep * square[i] + pace.square_add * (u * u);
      const float size = std::sqrt(square[i] / pace.square_weight) + pace.epsilon;
      value[i] -= eta * (velocity[i] / pace.mean_weight / size + pace.decay * value[i]);
    }
    return;
#else
    for (int64_t i = from; i < to; i++) {
      const float v = pace.momentum * velocity[i] + g[i - from] + pace.decay * value[i];
      velocity[i] = v;
      value[i] -= eta * v;
    }
#endif
  }
};

// Where a batch leaves its values, so many for each point, and those of all points, which never change.
struct Kept {
  Floats *batch;
  int each;
  Floats all;
};

class Network {
 public:
  // `at` and `value` may be one and the same.
  Network(const int32_t *shape, const float *at, float *value, float *velocity, const float *rates)
      : kind(shape[0]), hidden(shape[1]), m(shape[2]), d(shape[3]), k(shape[4]), b(shape[5]),
        loss_kind(shape[6]), kp(padded(k)), wide((int64_t)b * m), narrow((int64_t)b * kp), h(hidden, Floats(wide)), x((int64_t)b * d), out(narrow),
        out1(narrow), error(narrow), sum(kind == RESNET_FULL ? wide : 0), zeros(m), readout_t((int64_t)m * kp),
        change(wide), below(wide), error1(narrow),
        inner_t(kind == RESNET_BOTTLENECK ? (int64_t)m * kp : 0), readout_gradient((int64_t)k * m + kp) {
    for (int l = 0; l <= hidden; l++) {
      const bool last = l == hidden;
      const int64_t count = last ? (int64_t)k * m : (int64_t)inputs(l) * m, biases = last ? kp : m;
      layers.push_back({at, value, velocity, count, biases, rates[2 * l], rates[2 * l + 1]});
      at += count + biases;
      value += count + biases;
      velocity += count + biases;
      if (!last) gradient.resize(std::max<size_t>(gradient.size(), (int64_t)std::min(inputs(l), rows_at_once()) * m));
    }
    for (int l = 0; l < (kind == RESNET_BOTTLENECK ? 1 : hidden) && !layers[l].trained(); l++)
      kept.push_back({&h[l], m, {}});
  }
  virtual ~Network() = default;

  // Passes so many points now through the layers that stand still, so that no step has to.
  void keep(const float *points, int64_t count) {
    if (kept.empty()) return;
    transpose_weights();
    for (Kept &one : kept) one.all.resize(count * one.each);
    for (int64_t start = 0; start < count; start += b) {
      const int64_t size = std::min<int64_t>(b, count - start);
      std::copy_n(points + start * d, size * d, x.begin());
      forward();
      for (Kept &one : kept) std::copy_n(one.batch->begin(), size * one.each, one.all.begin() + start * one.each);
    }
    recalls = true;
  }

  // Trains for some steps; returns how many were taken before a loss was not finite, which is then the last one written.
  // The batches of the steps are in `order`; where there are fewer than steps, they come again.
  int64_t train(const float *points, const float *labels, const int64_t *order, int64_t batches, int64_t steps,
                const float *learning, const float *momentum, const float *decay, float *losses) {
    for (int64_t t = 0; t < steps; t++) {
      losses[t] = step(points, labels, order + t % batches * b, {learning[t], momentum[t], decay[t]});
      if (!is_finite(losses[t])) return t;
    }
    return steps;
  }

 protected:
  int kind, hidden, m, d, k, b, loss_kind, kp;
  int64_t wide, narrow;
  std::vector<Weights> layers;
  std::vector<Floats> h;
  std::vector<Kept> kept;  // at first those layers, from the first on, that stand still
  bool recalls = false;
  Floats x, out, out1, error, sum, zeros, readout_t;

  // One step of gradient descent; returns the loss before it, a mean over the batch.
  float step(const float *points, const float *labels, const int64_t *rows, const Pace &given) {
    for (int i = 0; i < b; i++) std::memcpy(x.data() + (int64_t)i * d, points + rows[i] * d, sizeof(float) * d);
    evaluate(rows);
    const float loss = loss_kind == SQUARED ? squared(labels, rows) : pseudo_huber(labels, rows);
    if (!is_finite(loss)) return loss / b;
    pace = given;
    backward();
    Weights &A = layers[hidden];
    A.descend(0, A.count, readout_gradient.data(), pace);
    A.descend(A.count, A.count + A.biases, readout_gradient.data() + A.count, pace);
    return loss / b;
  }

  // The sum over the batch of |out - y|^2, and the derivative of its mean as the error.
  float squared(const float *labels, const int64_t *rows) {
    float loss = 0;
    for (int i = 0; i < b; i++)
      for (int c = 0; c < k; c++) {
        const float e = out[(int64_t)i * kp + c] - labels[rows[i] * k + c];
        loss += e * e;
        error[(int64_t)i * kp + c] = 2.0f / b * e;
      }
    return loss;
  }

  // The same for sqrt(1 + |out - y|^2) - 1.
  float pseudo_huber(const float *labels, const int64_t *rows) {
    float loss = 0;
    for (int i = 0; i < b; i++) {
      float own = 0;
      for (int c = 0; c < k; c++) {
        const float e = out[(int64_t)i * kp + c] - labels[rows[i] * k + c];
        own += e * e;
        error[(int64_t)i * kp + c] = e;
      }
      const float root = std::sqrt(1 + own);
      loss += own / (root + 1);
      for (int c = 0; c < k; c++) error[(int64_t)i * kp + c] /= root * b;
    }
    return loss;
  }

  int inputs(int l) const { return l == 0 ? d : kind == RESNET_BOTTLENECK ? k : m; }

  Left rows_of(const Floats &matrix, int stride) const { return {matrix.data(), stride, 1}; }
  Left columns_of(const Floats &matrix, int stride) const { return {matrix.data(), 1, stride}; }

  // From x, which holds these rows of the points, to out.
  virtual void evaluate(const int64_t *rows) {
    transpose_weights();
    if (recalls) recall(rows);
    forward(recalls ? kept.size() : 0);
  }

  void recall(const int64_t *rows) {
    for (const Kept &one : kept)
      for (int64_t i = 0; i < b; i++)
        std::copy_n(one.all.begin() + rows[i] * one.each, one.each, one.batch->begin() + i * one.each);
  }

  // Has to be called when weights have moved.
  void transpose_weights() {
    transpose(readout_t.data(), kp, layers[hidden].at, k, m);
    if (kind == RESNET_BOTTLENECK && passes_below(1)) transpose(inner_t.data(), kp, layers[1].at, k, m);
  }

  // From x to out; so many layers have their values already.
  void forward(int done = 0) {
    if (done < 1) activate(0, rows_of(x, d));
    if (kind == FULLY_CONNECTED) {
      for (int l = std::max(1, done); l < hidden; l++) activate(l, rows_of(h[l - 1], m));
      read_out(out, h[hidden - 1]);
    } else if (kind == RESNET_FULL) {
      if (done < 2) activate(1, rows_of(h[0], m));
      add_layers();
      read_out(out, sum);
    } else {
      read_out(out1, h[0]);
      activate(1, rows_of(out1, kp));
      read_out(out, h[1]);
      for (int64_t i = 0; i < narrow; i++) out[i] += out1[i];
    }
  }

  void add_layers() {
    for (int64_t i = 0; i < wide; i++) sum[i] = h[0][i] + h[1][i];
  }

  // From the error, a derivative in out, to the readout's gradient, and to the step of every other layer: it is taken as
  // soon as nothing needs the layer any more, while its gradient is in the cache.
  void backward() {
    if (kind == FULLY_CONNECTED) {
      find_readout_gradient(error, h[hidden - 1], false);
      if (!trained_up_to(hidden - 1)) return;
      through_readout(change, error);
      for (int l = hidden - 1;; l--) {
        where_active(change.data(), h[l].data(), wide);
        const bool go_on = l > 0 && passes_below(l);
        if (go_on)
          product_transposed(below.data(), rows_of(change, m), layers[l].at, b, m, m, every_row(zeros.data()));
        descend(l, l ? columns_of(h[l - 1], m) : columns_of(x, d), change);
        if (!go_on) return;
        change.swap(below);
      }
    }
    if (kind == RESNET_FULL) {
      find_readout_gradient(error, sum, false);
      if (!trained_up_to(1)) return;
      through_readout(change, error);
      std::memcpy(below.data(), change.data(), sizeof(float) * wide);
      where_active(change.data(), h[1].data(), wide);
      if (passes_below(1))
        product_transposed(below.data(), rows_of(change, m), layers[1].at, b, m, m, {below.data(), m});
      descend(1, columns_of(h[0], m), change);
      if (!passes_below(1)) return;
    } else {
      find_readout_gradient(error, h[1], false);
      through_readout(change, error);
      where_active(change.data(), h[1].data(), wide);
      if (passes_below(1)) {
        std::memcpy(error1.data(), error.data(), sizeof(float) * narrow);
        add_product(error1.data(), rows_of(change, m), inner_t.data(), b, m, kp);
      }
      descend(1, columns_of(out1, kp), change);
      if (!passes_below(1)) return;
      find_readout_gradient(error1, h[0], true);
      if (!trained_up_to(0)) return;
      through_readout(below, error1);
    }
    where_active(below.data(), h[0].data(), wide);
    descend(0, columns_of(x, d), below);
  }

 private:
  Floats change, below, error1, inner_t, readout_gradient, gradient;
  Pace pace;

  // So many of a layer's rows are a quarter of a megabyte.
  int rows_at_once() const { return std::max(1, (1 << 16) / m); }

  void activate(int l, Left input) {
    const float *W = layers[l].at;
    product(h[l].data(), input, W, b, inputs(l), m, every_row(W + layers[l].count));
    relu(h[l].data(), wide);
  }

  void read_out(Floats &to, const Floats &from) {
    const Weights &A = layers[hidden];
    product(to.data(), rows_of(from, m), readout_t.data(), b, m, kp, every_row(A.at + A.count));
  }

  // The step of a layer from its input and the change in its output, some rows at a time.
  void descend(int l, Left input_t, const Floats &change) {
    Weights &W = layers[l];
    const int most = rows_at_once();
    for (int r = 0; r < inputs(l) && W.rate != 0; r += most) {
      const int size = std::min(most, inputs(l) - r);
      product(gradient.data(), {input_t.data + r * input_t.by_row, input_t.by_row, input_t.by_inner}, change.data(),
              size, b, m, every_row(zeros.data()));
      W.descend((int64_t)r * m, (int64_t)(r + size) * m, gradient.data(), pace);
    }
    if (W.bias_rate == 0) return;
    add_up(gradient.data(), change.data(), m);
    W.descend(W.count, W.count + W.biases, gradient.data(), pace);
  }

  void add_up(float *to, const float *from, int n) {
    std::memset(to, 0, sizeof(float) * n);
    for (int i = 0; i < b; i++)
      for (int j = 0; j < n; j++) to[j] += from[(int64_t)i * n + j];
  }

  void find_readout_gradient(const Floats &error, const Floats &h, bool add) {
    Weights &A = layers[hidden];
    if (!A.trained()) return;
    float *G = readout_gradient.data();
    if (add) {
      add_product(G, columns_of(error, kp), h.data(), k, b, m);
    } else {
      product(G, columns_of(error, kp), h.data(), k, b, m, every_row(zeros.data()));
      add_up(G + A.count, error.data(), kp);
    }
  }

  void through_readout(Floats &to, const Floats &error) {
    product(to.data(), rows_of(error, kp), layers[hidden].at, b, k, m, every_row(zeros.data()));
  }

  bool trained_up_to(int l) const {
    for (int i = 0; i <= l; i++)
      if (layers[i].trained()) return true;
    return false;
  }

  // Whether the error has to pass through this layer: in the bottleneck form the readout stands below it too.
  bool passes_below(int l) const {
    return trained_up_to(l - 1) || (kind == RESNET_BOTTLENECK && layers[hidden].trained());
  }
};

extern "C" int32_t bk_lanes() { return LANES; }

#endif
