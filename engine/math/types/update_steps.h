#pragma once

#include <cstdint>

namespace trainer {

/// Updates prefetch their arrays this many values ahead. A caller that alternates between kernels on the same
/// arrays passes at most this many values at a time: hardware prefetchers follow one kernel only.
constexpr std::int64_t kFetchedAhead = 512;

// The scalars of one step of an optimizer; w is a parameter, g its gradient. `decay`: decay w is added to g
// (L2 regularisation). `shrink`: shrink w is subtracted from w first (decoupled weight decay).

/// Momentum (Polyak 1964), or Nesterov's form as PyTorch has it: v = momentum v + g; w -= rate v, or
/// w -= rate (g + momentum v).
struct SgdStep {
  float rate = 0, momentum = 0, decay = 0;
  bool nesterov = false;
};

/// Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019): m = beta1 m + (1 - beta1) g;
/// v = beta2 v + (1 - beta2) g^2; w -= rate m / (sqrt(v) + epsilon), the rewritten form of section 2. `rate`
/// and `epsilon` include the corrections of the bias.
struct AdamStep {
  float rate = 0, epsilon = 0;
  float beta1 = 0, beta2 = 0;
  float decay = 0, shrink = 0;
};

/// RMSprop (Hinton 2012): v = smoothing v + (1 - smoothing) g^2; w -= rate g / (sqrt(v) + epsilon).
struct RmspropStep {
  float rate = 0, smoothing = 0, epsilon = 0, momentum = 0, decay = 0;
};

/// Adagrad (Duchi et al. 2011): s += g^2; w -= rate g / (sqrt(s) + epsilon).
struct AdagradStep {
  float rate = 0, epsilon = 0, decay = 0;
};

/// Adadelta (Zeiler 2012): v = rho v + (1 - rho) g^2; d = sqrt(u + epsilon) / sqrt(v + epsilon) g;
/// u = rho u + (1 - rho) d^2; w -= rate d.
struct AdadeltaStep {
  float rate = 0, rho = 0, epsilon = 0, decay = 0;
};

/// Lion (Chen et al. 2023): w -= rate sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g.
struct LionStep {
  float rate = 0, beta1 = 0, beta2 = 0, shrink = 0;
};

/// LARS (You et al. 2017): v = momentum v + rate (g + decay w); w -= v.
struct LarsStep {
  float rate = 0, momentum = 0, decay = 0;
};

/// The direction of LAMB (You et al. 2020, algorithm 2): m and v as in AdamStep;
/// scale m / (sqrt(v) + epsilon) + decay w. `scale` and `epsilon` include the corrections of the bias.
struct LambDirection {
  float scale = 1, epsilon = 0;
  float beta1 = 0, beta2 = 0;
  float decay = 0;
};

}  // namespace trainer
