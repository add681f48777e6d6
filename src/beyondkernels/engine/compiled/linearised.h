// The first-order expansion of a network where it started: out(at) + d out(at) · value.
//
// Nothing but `value` moves: what the network itself makes of a point never changes.

#ifndef BEYONDKERNELS_LINEARISED_H
#define BEYONDKERNELS_LINEARISED_H

#include <algorithm>

#include "network.h"

class Linearised : public Network {
 public:
  Linearised(const int32_t *shape, const float *at, float *value, float *velocity, const float *rates)
      : Network(shape, at, value, velocity, rates), dh(hidden, Floats(wide)), dout(narrow), dout1(narrow),
        dsum(kind == RESNET_FULL ? wide : 0), dreadout_t((int64_t)m * kp) {
    transpose_weights();
    for (const Weights &layer : layers) moves.push_back(layer.trained() || !is_zero(layer));
    kept.clear();
    for (Floats &layer : h) kept.push_back({&layer, m, {}});
    kept.push_back({&out, kp, {}});
    if (kind == RESNET_BOTTLENECK) kept.push_back({&out1, kp, {}});
  }

 protected:
  void evaluate(const int64_t *rows) override {
    if (recalls)
      recall(rows);
    else
      forward();
    tangent();
    for (int64_t i = 0; i < narrow; i++) out[i] += dout[i];
  }

 private:
  std::vector<Floats> dh;
  Floats dout, dout1, dsum, dreadout_t;
  std::vector<char> moves;

  static bool is_zero(const Weights &layer) {
    return std::all_of(layer.value, layer.value + layer.count + layer.biases, [](float w) { return w == 0; });
  }

  // The derivative of out along value, from layer to layer.
  void tangent() {
    transpose(dreadout_t.data(), kp, layers[hidden].value, k, m);
    bool below = activate(0, rows_of(x, d), {}, false);
    if (kind == FULLY_CONNECTED) {
      for (int l = 1; l < hidden; l++) below = activate(l, rows_of(h[l - 1], m), rows_of(dh[l - 1], m), below);
      read_out(dout, h[hidden - 1], dh[hidden - 1], below);
    } else if (kind == RESNET_FULL) {
      below = activate(1, rows_of(h[0], m), rows_of(dh[0], m), below);
      if (recalls) add_layers();
      for (int64_t i = 0; i < wide; i++) dsum[i] = dh[0][i] + dh[1][i];
      read_out(dout, sum, dsum, below);
    } else {
      below = read_out(dout1, h[0], dh[0], below);
      below = activate(1, rows_of(out1, kp), rows_of(dout1, kp), below);
      read_out(dout, h[1], dh[1], below);
      for (int64_t i = 0; i < narrow; i++) dout[i] += dout1[i];
    }
  }

  // dh[l] where neurons are active; returns whether it is other than zero.
  bool activate(int l, Left input, Left dinput, bool below) {
    const Weights &W = layers[l];
    const int p = inputs(l);
    float *to = dh[l].data();
    if (moves[l])
      product(to, input, W.value, b, p, m, every_row(W.value + W.count));
    else if (below)
      product(to, dinput, W.at, b, p, m, every_row(zeros.data()));
    if (moves[l] && below) add_product(to, dinput, W.at, b, p, m);
    if (moves[l] || below) where_active(to, h[l].data(), wide);
    return moves[l] || below;
  }

  bool read_out(Floats &to, const Floats &from, const Floats &dfrom, bool below) {
    const Weights &A = layers[hidden];
    std::fill(to.begin(), to.end(), 0.0f);
    if (moves[hidden]) product(to.data(), rows_of(from, m), dreadout_t.data(), b, m, kp, every_row(A.value + A.count));
    if (below) add_product(to.data(), rows_of(dfrom, m), readout_t.data(), b, m, kp);
    return moves[hidden] || below;
  }
};

#endif
