// Mini-batch gradient descent with momentum and weight decay on the squared error, for small ReLU networks.
//
// One call trains one network for many steps; nothing but its own numbers enters, so that it gives the same bits alone
// and beside a thousand others. Matrices are row-major. Hidden layers and outputs are padded to a multiple of the vector
// length with neurons whose weights are zero and stay zero.
//
// A layer lies in memory as (inputs + 1, neurons): a row for each input, the biases last. The readout lies as
// (outputs, neurons), its biases behind. Transposed copies serve the products that run over neurons.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#ifndef LANES
#define LANES 8
#endif

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef float AnyLanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE Lanes load(const float *p) { return *(const AnyLanes *)p; }
INLINE void store(float *p, Lanes v) { *(AnyLanes *)p = v; }

// A product starts from what is there, or in every row from one row: of biases, or of zeros.
enum Begin { ADD, ROW };

#define UNROLL _Pragma("GCC unroll 16")

// The left factor of a product, or its transpose: L(r, p) = data[r * by_row + p * by_inner].
struct Left {
  const float *data;
  int64_t by_row, by_inner;
};

// ROWS rows and VECTORS vectors of C = begin + L · R, kept in registers from the first term to the last.
template <int ROWS, int VECTORS, Begin BEGIN>
INLINE void tile(float *C, int64_t n, Left L, const float *R, int inner, const float *row) {
  Lanes sum[ROWS][VECTORS];
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++)
      sum[r][v] = load(BEGIN == ADD ? C + r * n + v * LANES : row + v * LANES);
  for (int p = 0; p < inner; p++) {
    Lanes right[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) right[v] = load(R + p * n + v * LANES);
    UNROLL for (int r = 0; r < ROWS; r++) {
      const float left = L.data[r * L.by_row + p * L.by_inner];
      UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] += left * right[v];
    }
  }
  UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTORS; v++) store(C + r * n + v * LANES, sum[r][v]);
}

template <int ROWS, int VECTORS, Begin BEGIN>
INLINE int tiles(int r, float *C, int64_t n, Left L, const float *R, int rows, int inner, const float *row) {
  for (; r + ROWS <= rows; r += ROWS)
    tile<ROWS, VECTORS, BEGIN>(C + r * n, n, {L.data + r * L.by_row, L.by_row, L.by_inner}, R, inner, row);
  return r;
}

template <int VECTORS, Begin BEGIN>
INLINE void strip(float *C, int64_t n, Left L, const float *R, int rows, int inner, const float *row) {
  int r = tiles<(VECTORS == 3 ? 8 : 10), VECTORS, BEGIN>(0, C, n, L, R, rows, inner, row);
  r = tiles<5, VECTORS, BEGIN>(r, C, n, L, R, rows, inner, row);
  tiles<1, VECTORS, BEGIN>(r, C, n, L, R, rows, inner, row);
}

// C[rows, n] = begin + L[rows, inner] · R[inner, n], n a multiple of LANES.
template <Begin BEGIN>
static void product(float *C, Left L, const float *R, int rows, int inner, int64_t n, const float *row) {
  for (int64_t c = 0; c < n;) {
    const int64_t left = (n - c) / LANES;
    const float *at = BEGIN == ROW ? row + c : nullptr;
    if (left == 3) {
      strip<3, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += 3 * LANES;
    } else if (left >= 2) {
      strip<2, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += 2 * LANES;
    } else {
      strip<1, BEGIN>(C + c, n, L, R + c, rows, inner, at);
      c += LANES;
    }
  }
}

INLINE int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

static void transpose(float *to, int64_t stride, const float *from, int rows, int columns) {  // to[column, row]
  const int block = 16;
  for (int c0 = 0; c0 < columns; c0 += block)
    for (int r = 0; r < rows; r++)
      for (int c = c0; c < c0 + block && c < columns; c++) to[c * stride + r] = from[(int64_t)r * columns + c];
}

static void relu(float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) h[i] = h[i] > 0 ? h[i] : 0;
}

static void where_active(float *change, const float *h, int64_t n) {
  for (int64_t i = 0; i < n; i++) change[i] = h[i] > 0 ? change[i] : 0;
}

// One tensor of the network with its gradient and velocity.
struct Weights {
  float *value, *velocity, *gradient;
  int64_t count;  // without biases
  int64_t biases;
  float rate, bias_rate;  // multiples of the learning rate; zero where nothing is trained

  bool trained() const { return rate != 0 || bias_rate != 0; }

  void update(float learning_rate, float momentum, float decay) {
    if (rate != 0) descend(0, count, learning_rate * rate, momentum, decay);
    if (bias_rate != 0) descend(count, count + biases, learning_rate * bias_rate, momentum, decay);
  }

 private:
  void descend(int64_t from, int64_t to, float eta, float momentum, float decay) {
    for (int64_t i = from; i < to; i++) {
      const float v = momentum * velocity[i] + gradient[i] + decay * value[i];
      velocity[i] = v;
      value[i] -= eta * v;
    }
  }
};

enum Kind { FULLY_CONNECTED = 0, RESNET_FULL = 1, RESNET_BOTTLENECK = 2 };

// A network and all it needs for one step.
class Trainer {
 public:
  Trainer(const int32_t *shape, float *value, float *velocity, const float *rates)
      : kind(shape[0]), hidden(shape[1]), m(shape[2]), d(shape[3]), k(shape[4]), b(shape[5]), kp(padded(k)) {
    for (int l = 0; l <= hidden; l++) {
      const bool last = l == hidden;
      const int64_t inputs = l == 0 ? d : kind == RESNET_BOTTLENECK ? k : m;
      const int64_t count = last ? (int64_t)k * m : inputs * m, biases = last ? kp : m;
      layers.push_back({value, velocity, nullptr, count, biases, rates[2 * l], rates[2 * l + 1]});
      gradients.emplace_back(count + biases);
      value += count + biases;
      velocity += count + biases;
    }
    for (int l = 0; l <= hidden; l++) layers[l].gradient = gradients[l].data();
    const int64_t wide = (int64_t)b * m, narrow = (int64_t)b * kp;
    for (int l = 0; l < hidden; l++) h.emplace_back(wide);
    change.resize(wide);
    below.resize(wide);
    sum.resize(kind == RESNET_FULL ? wide : 0);
    x.resize((int64_t)b * d);
    out.resize(narrow);
    out1.resize(narrow);
    error.resize(narrow);
    error1.resize(narrow);
    zeros.resize(m);
    readout_t.resize((int64_t)m * kp);
    const bool square = (kind == FULLY_CONNECTED && hidden > 1) || kind == RESNET_FULL;
    inner_t.resize(square ? (int64_t)m * m : kind == RESNET_BOTTLENECK ? (int64_t)m * kp : 0);
  }

  // One step; the loss before it, a mean over the batch of scale · ‖out − y‖².
  float step(const float *points, const float *labels, const int64_t *rows, float scale, float rate, float momentum, float decay) {
    for (int i = 0; i < b; i++) std::memcpy(x.data() + (int64_t)i * d, points + rows[i] * d, sizeof(float) * d);
    forward();
    float loss = 0;
    for (int i = 0; i < b; i++)
      for (int c = 0; c < k; c++) {
        const float e = out[(int64_t)i * kp + c] - labels[rows[i] * k + c];
        loss += e * e;
        error[(int64_t)i * kp + c] = 2 * scale / b * e;
      }
    if (!std::isfinite(loss)) return loss * scale / b;
    backward();
    for (auto &layer : layers) layer.update(rate, momentum, decay);
    return loss * scale / b;
  }

 private:
  int kind, hidden, m, d, k, b, kp;
  std::vector<Weights> layers;
  std::vector<std::vector<float>> gradients, h;
  std::vector<float> change, below, sum, x, out, out1, error, error1, readout_t, inner_t, zeros;

  Left rows_of(const std::vector<float> &matrix, int stride) const { return {matrix.data(), stride, 1}; }
  Left columns_of(const std::vector<float> &matrix, int stride) const { return {matrix.data(), 1, stride}; }

  void activate(int l, Left input, int inputs) {
    const float *W = layers[l].value;
    product<ROW>(h[l].data(), input, W, b, inputs, m, W + layers[l].count);
    relu(h[l].data(), (int64_t)b * m);
  }

  void read_out(std::vector<float> &to, const std::vector<float> &from) {
    product<ROW>(to.data(), rows_of(from, m), readout_t.data(), b, m, kp, layers[hidden].value + layers[hidden].count);
  }

  void forward() {
    transpose(readout_t.data(), kp, layers[hidden].value, k, m);
    activate(0, rows_of(x, d), d);
    if (kind == FULLY_CONNECTED) {
      for (int l = 1; l < hidden; l++) activate(l, rows_of(h[l - 1], m), m);
      read_out(out, h[hidden - 1]);
    } else if (kind == RESNET_FULL) {
      activate(1, rows_of(h[0], m), m);
      for (int64_t i = 0; i < (int64_t)b * m; i++) sum[i] = h[0][i] + h[1][i];
      read_out(out, sum);
    } else {
      read_out(out1, h[0]);
      activate(1, rows_of(out1, kp), k);
      read_out(out, h[1]);
      for (int64_t i = 0; i < (int64_t)b * kp; i++) out[i] += out1[i];
    }
  }

  // The gradient of a layer from its input and the change in its output.
  void gradient(int l, Left input_t, int inputs, const std::vector<float> &change) {
    if (!layers[l].trained()) return;
    float *G = layers[l].gradient;
    product<ROW>(G, input_t, change.data(), inputs, b, m, zeros.data());
    add_up(G + layers[l].count, change.data(), m);
  }

  void add_up(float *to, const float *from, int n) {
    std::memset(to, 0, sizeof(float) * n);
    for (int i = 0; i < b; i++)
      for (int j = 0; j < n; j++) to[j] += from[(int64_t)i * n + j];
  }

  void readout_gradient(const std::vector<float> &error, const std::vector<float> &h, bool add) {
    Weights &A = layers[hidden];
    if (!A.trained()) return;
    if (add)
      product<ADD>(A.gradient, columns_of(error, kp), h.data(), k, b, m, nullptr);
    else
      product<ROW>(A.gradient, columns_of(error, kp), h.data(), k, b, m, zeros.data());
    if (!add) add_up(A.gradient + A.count, error.data(), kp);
  }

  void through_readout(std::vector<float> &to, const std::vector<float> &error) {
    product<ROW>(to.data(), rows_of(error, kp), layers[hidden].value, b, k, m, zeros.data());
  }

  bool trained_up_to(int l) const {
    for (int i = 0; i <= l; i++)
      if (layers[i].trained()) return true;
    return false;
  }

  void backward() {
    const int64_t wide = (int64_t)b * m;
    if (kind == FULLY_CONNECTED) {
      readout_gradient(error, h[hidden - 1], false);
      if (!trained_up_to(hidden - 1)) return;
      through_readout(change, error);
      for (int l = hidden - 1;; l--) {
        where_active(change.data(), h[l].data(), wide);
        gradient(l, l ? columns_of(h[l - 1], m) : columns_of(x, d), l ? m : d, change);
        if (l == 0 || !trained_up_to(l - 1)) return;
        transpose(inner_t.data(), m, layers[l].value, m, m);
        product<ROW>(below.data(), rows_of(change, m), inner_t.data(), b, m, m, zeros.data());
        change.swap(below);
      }
    }
    if (kind == RESNET_FULL) {
      readout_gradient(error, sum, false);
      if (!trained_up_to(1)) return;
      through_readout(change, error);
      std::memcpy(below.data(), change.data(), sizeof(float) * wide);
      where_active(change.data(), h[1].data(), wide);
      gradient(1, columns_of(h[0], m), m, change);
      if (!trained_up_to(0)) return;
      transpose(inner_t.data(), m, layers[1].value, m, m);
      product<ADD>(below.data(), rows_of(change, m), inner_t.data(), b, m, m, nullptr);
    } else {
      readout_gradient(error, h[1], false);
      through_readout(change, error);
      where_active(change.data(), h[1].data(), wide);
      gradient(1, columns_of(out1, kp), k, change);
      if (!trained_up_to(0) && !layers[2].trained()) return;
      transpose(inner_t.data(), kp, layers[1].value, k, m);
      std::memcpy(error1.data(), error.data(), sizeof(float) * b * kp);
      product<ADD>(error1.data(), rows_of(change, m), inner_t.data(), b, m, kp, nullptr);
      readout_gradient(error1, h[0], true);
      if (!trained_up_to(0)) return;
      through_readout(below, error1);
    }
    where_active(below.data(), h[0].data(), wide);
    gradient(0, columns_of(x, d), d, below);
  }
};

// Trains for some steps; returns how many were taken before a loss was not finite, which is then the last one written.
extern "C" int64_t bk_train(const int32_t *shape, float *value, float *velocity, const float *rates, const float *points,
                            const float *labels, const int64_t *order, int64_t steps, float scale, const float *learning,
                            const float *momentum, const float *decay, float *losses) {
  Trainer trainer(shape, value, velocity, rates);
  const int b = shape[5];
  for (int64_t t = 0; t < steps; t++) {
    losses[t] = trainer.step(points, labels, order + t * b, scale, learning[t], momentum[t], decay[t]);
    if (!std::isfinite(losses[t])) return t;
  }
  return steps;
}

extern "C" int32_t bk_lanes() { return LANES; }
