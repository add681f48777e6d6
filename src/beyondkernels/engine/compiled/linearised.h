// The first-order expansion of a network where it started: out(at) + d out(at) · value.
//
// Nothing but `value` moves, so that what the network itself makes of every point can be computed once and kept.

#ifndef BEYONDKERNELS_LINEARISED_H
#define BEYONDKERNELS_LINEARISED_H

#include <algorithm>

#include "network.h"

class Linearised : public Network {
 public:
  // `keep` points are passed through the network now; with none, each batch is when its turn comes.
  Linearised(const int32_t *shape, const float *at, float *value, float *velocity, const float *rates,
             const float *points, int64_t keep)
      : Network(shape, at, value, velocity, rates), dh(hidden, Floats(wide)), dout(narrow), dout1(narrow),
        dsum(kind == RESNET_FULL ? wide : 0), dreadout_t((int64_t)m * kp), kept_h(hidden, Floats(keep * m)),
        kept_out(keep * kp), kept_out1(kind == RESNET_BOTTLENECK ? keep * kp : 0) {
    transpose_weights();
    for (const Weights &layer : layers) moves.push_back(layer.trained() || !is_zero(layer));
    for (int64_t start = 0; start < keep; start += b) {
      const int64_t size = std::min<int64_t>(b, keep - start);
      std::copy_n(points + start * d, size * d, x.begin());
      forward();
      for (int l = 0; l < hidden; l++) std::copy_n(h[l].begin(), size * m, kept_h[l].begin() + start * m);
      std::copy_n(out.begin(), size * kp, kept_out.begin() + start * kp);
      if (kind == RESNET_BOTTLENECK) std::copy_n(out1.begin(), size * kp, kept_out1.begin() + start * kp);
    }
  }

 protected:
  void evaluate(const int64_t *rows) override {
    if (kept_out.empty())
      forward();
    else
      recall(rows);
    tangent();
    for (int64_t i = 0; i < narrow; i++) out[i] += dout[i];
  }

 private:
  std::vector<Floats> dh;
  Floats dout, dout1, dsum, dreadout_t;
  std::vector<Floats> kept_h;
  Floats kept_out, kept_out1;
  std::vector<char> moves;

  static bool is_zero(const Weights &layer) {
    return std::all_of(layer.value, layer.value + layer.count + layer.biases, [](float w) { return w == 0; });
  }

  void recall(const int64_t *rows) {
    for (int64_t i = 0; i < b; i++) {
      for (int l = 0; l < hidden; l++) std::copy_n(kept_h[l].begin() + rows[i] * m, m, h[l].begin() + i * m);
      std::copy_n(kept_out.begin() + rows[i] * kp, kp, out.begin() + i * kp);
      if (kind == RESNET_BOTTLENECK) std::copy_n(kept_out1.begin() + rows[i] * kp, kp, out1.begin() + i * kp);
    }
    if (kind == RESNET_FULL)
      for (int64_t i = 0; i < wide; i++) sum[i] = h[0][i] + h[1][i];
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
