// Algorithm 1 of the paper on ResNets and kernels: single points, one after the other, on the bottleneck network
//
//   out1 = A relu(W x),   out = out1 + A relu(V out1),   W -= eta_w grad,   V -= eta_v grad   of   |y - out|^2 / 2,
//
// with the biases as a last column of W and V, whose input is one (or zero, where there are no biases).
//
// A step is bound by how often the matrices pass through the processor. So neurons are taken in groups of a few vectors
// whose numbers lie together, and a step sweeps over the groups three times: the first sweep moves W by the step before
// and uses it for the next point while it is at hand, the second passes V forward, the third passes the error back
// through V and moves it.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "lanes.h"

namespace {

const int GROUP = 4 * LANES;  // neurons of a group; the last one may have fewer

// A matrix with a column for each neuron: group behind group, each as (rows, neurons of the group).
class Grouped {
 public:
  Grouped(int rows, int m) : rows(rows), m(m), data((int64_t)rows * padded(m)) {}

  // The group whose first neuron this is.
  float *at(int64_t neuron) { return data.data() + neuron * rows; }

  // Goes over some rows: act(entry, row, neuron).
  template <typename Act>
  void each(int from, int to, Act act) {
    for (int i = 0; i < m; i++) {
      const int start = i / GROUP * GROUP;
      const int left = padded(m) - start, size = left < GROUP ? left : GROUP;
      float *column = at(start) + i - start;
      for (int r = from; r < to; r++) act(column[(int64_t)r * size], r, i);
    }
  }

 private:
  int rows, m;
  std::vector<float> data;
};

// The weights (neurons, inputs) and biases of a layer, and their mean over the tail where that is asked for.
struct Given {
  float *weight, *bias, *mean_weight, *mean_bias;
};

// A layer that is trained; its biases are its last row.
struct Layer {
  Given given;
  int inputs;
  float rate;
  Grouped value, mean;

  Layer(Given given, int inputs, int m, float rate)
      : given(given), inputs(inputs), rate(rate), value(inputs + 1, m), mean(given.mean_weight ? inputs + 1 : 0, m) {
    move(value, given.weight, given.bias, [](float &here, float &there) { here = there; });
    if (given.mean_weight) move(mean, given.mean_weight, given.mean_bias, [](float &here, float &there) { here = there; });
  }

  void give_back() {
    move(value, given.weight, given.bias, [](float &here, float &there) { there = here; });
    if (given.mean_weight) move(mean, given.mean_weight, given.mean_bias, [](float &here, float &there) { there = here; });
  }

 private:
  template <typename Copy>
  void move(Grouped &here, float *weight, float *bias, Copy copy) {
    here.each(0, inputs, [=](float &entry, int r, int i) { copy(entry, weight[(int64_t)i * inputs + r]); });
    if (bias) here.each(inputs, inputs + 1, [=](float &entry, int, int i) { copy(entry, bias[i]); });
  }
};

class OnePass {
 public:
  OnePass(int m, int d, int k, Given first, Given second, const float *readout, float first_rate, float second_rate)
      : m(m), d(d), k(k), W(first, d, m, first_rate), V(second, k, m, second_rate), A(k, m), h1(padded(m)),
        h2(padded(m)), before(d + 1), now(d + 1), out1(k + 1), error(k), error1(k), sums((int64_t)k * LANES) {
    A.each(0, k, [=](float &entry, int c, int i) { entry = readout[(int64_t)c * m + i]; });
    now[d] = before[d] = first.bias ? 1 : 0;
    out1[k] = second.bias ? 1 : 0;
  }

  // Takes steps up to the first loss that is not finite; returns how many were taken before it. Steps from number
  // `early` on belong to the tail, of which `place` were taken before.
  int64_t run(const float *x, const float *y, int64_t steps, int64_t early, int64_t place, double *seen) {
    const bool averaged = W.given.mean_weight != nullptr;
    int64_t t = 0;
    for (; t < steps; t++) {
      const bool late = t >= early, average = averaged && late;
      const float share = late ? (float)(1.0 / (double)(place + t - early + 1)) : 0;
      std::memcpy(now.data(), x + t * d, sizeof(float) * d);
      average ? first_layer<true>(share) : first_layer<false>(share);
      second_layer();
      float loss = 0;
      for (int c = 0; c < k; c++) {
        error[c] -= y[t * k + c];
        loss += error[c] * error[c];
      }
      seen[0] += (double)loss;
      if (late) seen[1] += (double)loss;
      if (!is_finite(loss)) break;
      average ? back_through_second_layer<true>(share) : back_through_second_layer<false>(share);
      now.swap(before);
    }
    // W moves once more, by the same code as in the middle of a call: where a run is cut must not change a bit. (At a
    // loss that is not finite the sweep before it has moved W already.)
    if (t == steps) {
      std::fill(now.begin(), now.end(), 0.0f);
      averaged && t >= early ? first_layer<true>(0) : first_layer<false>(0);
    }
    W.give_back();
    V.give_back();
    return t;
  }

 private:
  int m, d, k;
  Layer W, V;
  Grouped A;
  std::vector<float> h1, h2, before, now, out1, error, error1, sums;

  // Calls group(vectors, neuron) for each group, the number of its vectors as a constant.
  template <typename Group>
  void sweep(Group group) const {
    const int64_t all = padded(m);
    int64_t i = 0;
    for (; i + GROUP <= all; i += GROUP) group(std::integral_constant<int, GROUP / LANES>(), i);
    const int64_t left = (all - i) / LANES;
    if (left == 3) group(std::integral_constant<int, 3>(), i);
    if (left == 2) group(std::integral_constant<int, 2>(), i);
    if (left == 1) group(std::integral_constant<int, 1>(), i);
  }

  // A sum for each output is kept as a vector until all groups have added to it.
  void clear_sums() { std::memset(sums.data(), 0, sizeof(float) * sums.size()); }

  void add_sums(float *to) const {
    for (int c = 0; c < k; c++) {
      const float *s = sums.data() + (int64_t)c * LANES;
      float total[LANES / 2];
      for (int i = 0; i < LANES / 2; i++) total[i] = s[i] + s[i + LANES / 2];
      to[c] += (total[0] + total[1]) + (total[2] + total[3]);
    }
  }

  // Moves W by the point before, takes it into the mean, and passes the new point through it. At the start of a call
  // there is no point before, and its error is zero.
  template <bool AVERAGE>
  void first_layer(float share) {
    clear_sums();
    const int d = this->d, k = this->k;
    const float rate = W.rate, *e = error1.data(), *old = before.data(), *x = now.data();
    float *S = sums.data();
    sweep([=](auto vectors, int64_t neuron) {
      constexpr int N = decltype(vectors)::value, SIZE = N * LANES;
      float *w = W.value.at(neuron), *mean = AVERAGE ? W.mean.at(neuron) : nullptr, *h = h1.data() + neuron;
      const float *a = A.at(neuron);
      Lanes g[N], z[N];
      UNROLL for (int v = 0; v < N; v++) g[v] = z[v] = Lanes{};
      through_readout<N>(g, a, e, k);
      UNROLL for (int v = 0; v < N; v++) g[v] = rate * where_positive(load(h + v * LANES), g[v]);
      for (int p = 0; p <= d; p++) {
        UNROLL for (int v = 0; v < N; v++) {
          float *at = w + p * SIZE + v * LANES;
          const Lanes value = load(at) - g[v] * old[p];
          store(at, value);
          if (AVERAGE) take_in(mean + p * SIZE + v * LANES, value, share);
          z[v] += value * x[p];
        }
      }
      activate<N>(h, z, S, a, k);
    });
    std::memset(out1.data(), 0, sizeof(float) * k);
    add_sums(out1.data());
  }

  // h2 and the output, which is left where the error will be.
  void second_layer() {
    clear_sums();
    const int k = this->k;
    const float *o = out1.data();
    float *S = sums.data();
    sweep([=](auto vectors, int64_t neuron) {
      constexpr int N = decltype(vectors)::value, SIZE = N * LANES;
      const float *value = V.value.at(neuron), *a = A.at(neuron);
      Lanes z[N];
      UNROLL for (int v = 0; v < N; v++) z[v] = Lanes{};
      for (int c = 0; c <= k; c++)
        UNROLL for (int v = 0; v < N; v++) z[v] += load(value + c * SIZE + v * LANES) * o[c];
      activate<N>(h2.data() + neuron, z, S, a, k);
    });
    std::memcpy(error.data(), out1.data(), sizeof(float) * k);
    add_sums(error.data());
  }

  // The error at out1, and V moved.
  template <bool AVERAGE>
  void back_through_second_layer(float share) {
    clear_sums();
    const int k = this->k;
    const float rate = V.rate, *o = out1.data(), *e = error.data();
    float *S = sums.data();
    sweep([=](auto vectors, int64_t neuron) {
      constexpr int N = decltype(vectors)::value, SIZE = N * LANES;
      float *value = V.value.at(neuron), *mean = AVERAGE ? V.mean.at(neuron) : nullptr;
      Lanes g[N], move[N];
      UNROLL for (int v = 0; v < N; v++) g[v] = Lanes{};
      through_readout<N>(g, A.at(neuron), e, k);
      UNROLL for (int v = 0; v < N; v++) {
        g[v] = where_positive(load(h2.data() + neuron + v * LANES), g[v]);
        move[v] = rate * g[v];
      }
      for (int c = 0; c <= k; c++) {
        Lanes sum = c < k ? load(S + c * LANES) : Lanes{};
        UNROLL for (int v = 0; v < N; v++) {
          float *at = value + c * SIZE + v * LANES;
          const Lanes old = load(at);
          if (AVERAGE) take_in(mean + c * SIZE + v * LANES, old, share);
          sum += old * g[v];
          store(at, old - move[v] * o[c]);
        }
        if (c < k) store(S + c * LANES, sum);
      }
    });
    std::memcpy(error1.data(), error.data(), sizeof(float) * k);
    add_sums(error1.data());
  }

  // g += A^T e.
  template <int N>
  INLINE void through_readout(Lanes *g, const float *a, const float *e, int k) {
    for (int c = 0; c < k; c++)
      UNROLL for (int v = 0; v < N; v++) g[v] += load(a + (c * N + v) * LANES) * e[c];
  }

  // h = relu(z), and what it adds to the outputs.
  template <int N>
  INLINE void activate(float *h, Lanes *z, float *sums, const float *a, int k) {
    UNROLL for (int v = 0; v < N; v++) {
      z[v] = rectified(z[v]);
      store(h + v * LANES, z[v]);
    }
    for (int c = 0; c < k; c++) {
      Lanes sum = load(sums + c * LANES);
      UNROLL for (int v = 0; v < N; v++) sum += load(a + (c * N + v) * LANES) * z[v];
      store(sums + c * LANES, sum);
    }
  }

  INLINE void take_in(float *mean, Lanes value, float share) {
    const Lanes old = load(mean);
    store(mean, old + share * (value - old));
  }
};

}  // namespace

// Trains for some steps, on as many points; returns how many were taken before a loss was not finite.
extern "C" int64_t bk_one_pass(const int32_t *shape, float *W, float *W_bias, float *V, float *V_bias, const float *A,
                               float *mean_W, float *mean_W_bias, float *mean_V, float *mean_V_bias, const float *points,
                               const float *labels, int64_t steps, float first_rate, float second_rate, int64_t early,
                               int64_t place, double *seen) {
  OnePass trainer(shape[0], shape[1], shape[2], {W, W_bias, mean_W, mean_W_bias}, {V, V_bias, mean_V, mean_V_bias}, A,
                  first_rate, second_rate);
  return trainer.run(points, labels, steps, early, place, seen);
}
