#pragma once

#include <cstdint>

namespace trainer {

// One step of an optimizer on `count` numbers of a parameter, as PyTorch defines it unless said. Every number
// is computed by itself: its bits do not depend on where it lies.

/// So many numbers ahead updates fetch their arrays: who calls several kernels by turns gives them so many at
/// a time, as processors themselves look no further than the kernel at work.
constexpr std::int64_t kFetchedAhead = 1024;

/// The bits of updates' numbers, summed as they read and as they wrote them: those of the parameter, then
/// of each state in the order of its arguments; an update adds what it reads or writes and leaves the others
/// as they are. See bit_sum().
struct UpdateSums {
  static constexpr int kMost = 5, kLanes = 16;
  /// Lanes, so that an update need not add them to one another: their total counts.
  struct alignas(64) Lanes {
    std::uint32_t parts[kLanes] = {};
    std::uint32_t total() const;
  };
  Lanes before[kMost], after[kMost];
  std::uint32_t told = 0;  ///< a bit for each array that was told of, from the lowest

  void clear();
};

/// Adam (Kingma and Ba 2015): m and v are running means of the gradient and of its square;
/// w -= rate m / (sqrt(v) + epsilon), in the order of section 2, which divides once.
struct AdamStep {
  float rate = 0, epsilon = 0;  ///< corrected for the start of m and v at zero
  float beta1 = 0, beta2 = 0;
  float decay = 0;   ///< so much of w is added to the gradient
  float shrink = 0;  ///< so much of w is taken from w first (AdamW)
};
/// `sums` may be null.
void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight, UpdateSums* sums = nullptr);

/// RMSprop (Hinton 2012): w -= rate g / (sqrt(v) + epsilon), through a velocity where there is momentum.
struct RmspropStep {
  float rate = 0, smoothing = 0, epsilon = 0, momentum = 0, decay = 0;
};
/// `mean` is null unless v is to be the variance, `velocity` is null without momentum.
void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight, UpdateSums* sums = nullptr);

/// Adagrad (Duchi et al. 2011): w -= rate g / (sqrt(sum of g^2) + epsilon).
struct AdagradStep {
  float rate = 0, epsilon = 0, decay = 0;
};
void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight, UpdateSums* sums = nullptr);

/// Adadelta (Zeiler 2012): steps in the units of w, from running means of the squares of gradients and of
/// steps.
struct AdadeltaStep {
  float rate = 0, rho = 0, epsilon = 0, decay = 0;
};
void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight, UpdateSums* sums = nullptr);

/// Lion (Chen et al. 2023): w -= rate sign(beta1 m + (1 - beta1) g), and m follows g by beta2.
struct LionStep {
  float rate = 0, beta1 = 0, beta2 = 0, shrink = 0;
};
void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight,
                 UpdateSums* sums = nullptr);

/// LARS (You et al. 2017): v = momentum v + rate (g + decay w); w -= v.
struct LarsStep {
  float rate = 0, momentum = 0, decay = 0;
};
void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight, UpdateSums* sums = nullptr);

/// LAMB (You et al. 2020): where adam would go, the decay of w added. `direction` may be the gradient's own
/// memory. Tells of the means alone: the step that follows reads w, too.
struct LambDirection {
  float scale = 1, epsilon = 0;  ///< scale m / (sqrt(v) + epsilon), both corrected as adam's are
  float beta1 = 0, beta2 = 0;
  float decay = 0;
};
void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction, UpdateSums* sums = nullptr);

/// mean = keep mean + (1 - keep) x; tells of the mean alone, as array `array` of the sums.
void moving_average(std::int64_t count, float keep, const float* x, float* mean, UpdateSums* sums = nullptr,
                    int array = 0);

/// Every x brought into [-limit, limit]; NaN stays.
void clamp(std::int64_t count, float limit, float* x);

namespace reference {
void adam_update(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
                 float* weight);
void rmsprop_update(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                    float* mean, float* velocity, float* weight);
void adagrad_update(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                    float* weight);
void adadelta_update(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                     float* delta, float* weight);
void lion_update(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight);
void lars_update(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
                 float* weight);
void lamb_direction(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
                    float* square, const float* weight, float* direction);
}  // namespace reference

}  // namespace trainer
