#pragma once

#include <cstdint>

#include "engine/math/types/activation.h"
#include "engine/math/types/convolution_geometry.h"
#include "engine/math/types/pooling_geometry.h"
#include "engine/math/types/update_steps.h"

// Everything under kernels/ is compiled once per instruction set, in a namespace of its own
// (KERNEL_NAMESPACE), and chosen at run time. So that no instruction leaks into code shared with older CPUs,
// those files include nothing that holds inline functions or templates of external linkage: the linker keeps
// one copy of such a function, perhaps the one compiled for AVX-512.

namespace trainer {

struct ElementwiseKernels {
  void (*activate)(Activation f, std::int64_t count, const float* x, float* y);
  void (*activate_backward)(Activation f, std::int64_t count, const float* y, const float* dy, float* dx);
  void (*bias_activate)(Activation f, std::int64_t rows, std::int64_t columns, const float* x,
                        const float* bias, float* y);
  void (*column_sums)(std::int64_t rows, std::int64_t columns, const float* x, bool accumulate, float* sums);
  void (*leaky_relu)(std::int64_t count, float negative_slope, const float* x, float* y);
  void (*leaky_relu_backward)(std::int64_t count, float negative_slope, const float* x, const float* dy,
                              float* dx);
  void (*add)(std::int64_t count, const float* a, const float* b, float* y);
  void (*scale)(std::int64_t count, float factor, const float* x, float* y);
  void (*multiply)(std::int64_t count, const float* x, const float* mask, float* y);
  void (*softmax)(std::int64_t rows, std::int64_t columns, const float* x, float* y);
  float (*softmax_rest)(std::int64_t columns, const float* x, const float* probabilities, float* largest);
  float (*softmax_spread)(std::int64_t columns, const float* x, float largest, const float* weights);
  void (*softmax_spread_gradient)(std::int64_t columns, float factor, float share, const float* weights,
                                  float* gradient);
  void (*sigmoid_cross_entropy)(std::int64_t count, float scale, const float* x, const float* target,
                                float* loss, float* dx);
  void (*activate_with_derivative)(Activation f, std::int64_t count, const float* x, float* y,
                                   float* derivative);
  void (*bytes_to_unit)(std::int64_t count, const std::uint8_t* x, float* y);
  void (*store_bfloat16)(std::int64_t count, float* x, std::uint16_t* stored);
  void (*load_bfloat16)(std::int64_t count, const std::uint16_t* stored, float* x);
};

struct RandomKernels {
  void (*uniform)(std::uint64_t index, std::uint64_t moment, std::uint64_t key, std::int64_t counters,
                  float* values);
};

struct ChecksumKernels {
  std::uint64_t (*checksum)(std::int64_t count, const float* x);
  std::uint32_t (*bit_sum)(std::int64_t count, const float* x);
  std::uint64_t (*fingerprint)(std::int64_t count, const float* x, std::int64_t first);
  std::uint64_t (*fingerprint_and_largest)(std::int64_t count, const float* x, std::int64_t first,
                                           std::uint32_t* largest);
  void (*row_fingerprints)(std::int64_t rows, std::int64_t size, const float* x, std::uint64_t* sums);
};

struct ActivationKernels {
  void (*elu)(std::int64_t count, float alpha, const float* x, float* y);
  void (*elu_backward)(std::int64_t count, float alpha, const float* y, const float* dy, float* dx);
  void (*prelu)(std::int64_t rows, std::int64_t columns, const float* weight, const float* x, float* y);
  void (*prelu_backward)(std::int64_t rows, std::int64_t columns, const float* weight, const float* x,
                         const float* dy, float* dx, float* terms);
  void (*power)(std::int64_t count, float exponent, const float* x, float* y);
};

struct NormalizationKernels {
  void (*channel_moments)(std::int64_t rows, std::int64_t channels, const float* x, double* sums,
                          double* squares);
  void (*channel_affine)(std::int64_t rows, std::int64_t channels, const float* x, const float* scale,
                         const float* shift, float* y);
  void (*backward_sums)(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                        const float* mean, double* dy_sums, double* dot_sums);
  void (*backward)(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                   const float* mean, const float* a, const float* b, const float* d, float* dx);
  void (*layer_norm)(std::int64_t rows, std::int64_t columns, const float* x, const float* weight,
                     const float* bias, float epsilon, float* y, float* mean, float* inverse_deviation);
  void (*layer_norm_gradients)(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                               const float* mean, const float* inverse_deviation, float* dweight,
                               float* dbias);
  void (*layer_norm_backward)(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                              const float* mean, const float* inverse_deviation, const float* weight,
                              float* dx);
};

struct PoolingKernels {
  void (*max_pool)(const PoolingGeometry& geometry, std::int64_t images, const float* x, float* y,
                   std::uint8_t* winner, bool after_relu);
  void (*max_pool_backward)(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                            const std::uint8_t* winner, float* dx);
  void (*average_pool)(const PoolingGeometry& geometry, std::int64_t images, const float* x,
                       bool include_padding, float* y);
  void (*average_pool_backward)(const PoolingGeometry& geometry, std::int64_t images, const float* dy,
                                bool include_padding, float* dx);
};

/// Steps of optimizers.
struct UpdateKernels {
  void (*sgd)(std::int64_t count, const SgdStep& step, const float* gradient, float* velocity, float* weight);
  void (*adam)(std::int64_t count, const AdamStep& step, const float* gradient, float* mean, float* square,
               float* weight);
  void (*rmsprop)(std::int64_t count, const RmspropStep& step, const float* gradient, float* square,
                  float* mean, float* velocity, float* weight);
  void (*adagrad)(std::int64_t count, const AdagradStep& step, const float* gradient, float* sum,
                  float* weight);
  void (*adadelta)(std::int64_t count, const AdadeltaStep& step, const float* gradient, float* square,
                   float* delta, float* weight);
  void (*lion)(std::int64_t count, const LionStep& step, const float* gradient, float* mean, float* weight);
  void (*lars)(std::int64_t count, const LarsStep& step, const float* gradient, float* velocity,
               float* weight);
  void (*lamb)(std::int64_t count, const LambDirection& step, const float* gradient, float* mean,
               float* square, const float* weight, float* direction);
  void (*average)(std::int64_t count, float keep, const float* x, float* mean);
  void (*clamp)(std::int64_t count, float limit, float* x);
};

/// Sums of products of an image, or of a gradient laid out like one, with weights. Distances are in floats,
/// steps in rows. Rows outside of x count as zeros; columns do so only with `border`.
struct Correlation {
  std::int64_t rows = 0, columns = 0;    ///< of the output
  std::int64_t y_row = 0, y_column = 0;  ///< between neighbouring outputs
  std::int64_t x_height = 0, x_row = 0;
  std::int64_t first_row = 0;               ///< x's row under output row 0 and tap row 0; may be negative
  std::int64_t row_step = 1, x_column = 0;  ///< between the inputs of neighbouring outputs
  std::int64_t tap_rows = 0, tap_row_step = 1;
  std::int64_t tap_columns = 0, tap_column = 0;  ///< in each row: runs that are contiguous in x
  std::int64_t run = 0;                          ///< inputs in a run
  std::int64_t filters = 0;
  std::int64_t x_width = 0,
               border = 0;  ///< for narrow and sliding kernels: x's pixels and the zeros on each side
  bool portable = false;    ///< sums in the order of 32 registers of 16 lanes, whatever the processor has
};

/// The most inputs of a run with which add_products sums several tap rows together. Its sums then depend on
/// how many filters it gets.
constexpr int kShortRun = 5;

/// Images for add_products, one after the other in x and dy.
struct ImageBlock {
  std::int64_t images = 0, x_image = 0, dy_image = 0;
};

struct ConvolutionKernels {
  std::int64_t lanes;  ///< floats of a vector
  std::int64_t block;  ///< filters that correlate takes together; weights are packed for it
  /// y = x * w + bias, with relu where asked. For each block of filters, w has all taps in order, each with
  /// the block's filters rounded up to vectors; bias (may be null) is rounded up, too.
  void (*correlate)(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                    float* y);
  /// Whether the kernel that keeps a whole row of x of this width in registers, its border implied, serves
  /// this shape: where it is the fastest one or, if `portable`, where it is that on the widest processor.
  bool (*has_narrow)(std::int64_t x_width, std::int64_t tap_columns, std::int64_t border, bool portable);
  /// The same as correlate by that kernel. Weights come in blocks of `lanes` filters, and within a kernel row
  /// by input, then by column.
  void (*correlate_narrow)(const Correlation& job, const float* x, const float* w, const float* bias,
                           bool relu, float* y);
  /// dw[tap, f] += sum over images and pixels of x dy, where each pixel of dy (y_row, y_column) can be read
  /// in whole vectors. Rows of dw are `dw_tap` apart.
  void (*add_products)(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                       float* dw, std::int64_t dw_tap);
  /// The same for the kernel that reads x without its border, for outputs of `columns` columns.
  bool (*has_sliding)(std::int64_t columns, std::int64_t tap_columns, std::int64_t border, bool portable);
  /// The same as add_products by that kernel.
  void (*add_sliding_products)(const Correlation& job, const ImageBlock& block, const float* x,
                               const float* dy, float* dw, std::int64_t dw_tap);
};

/// Convolutions in which every channel is a group with one filter.
struct DepthwiseKernels {
  void (*forward)(const ConvolutionGeometry& geometry, std::int64_t images, const float* x, const float* w,
                  const float* bias, float* y);
  void (*backward_data)(const ConvolutionGeometry& geometry, std::int64_t images, const float* dy,
                        const float* w, float* dx);
  /// dw += ...
  void (*add_weights)(const ConvolutionGeometry& geometry, std::int64_t images, const float* x,
                      const float* dy, float* dw);
};

/// Parts of sums of squares that do not depend on the order.
struct SquareSumKernels {
  /// The largest of the bits without sign.
  std::uint32_t (*largest_magnitude)(std::int64_t count, const float* x);
  /// The sum of x^2 times `units`, each rounded to an integer below 2^51; it must stay below 2^63.
  std::int64_t (*whole_squares)(std::int64_t count, double units, const float* x);
};

/// Attention scores of some queries, a column each: query c sees the first `visible` + c keys, at least one.
struct ScoreColumns {
  std::int64_t keys, queries, step;
  std::int64_t visible;
  float scale;
};

struct AttentionKernels {
  /// Scores become shares, zero where they are not seen; each query leaves its largest score, and 1 / the sum
  /// of its exponentials.
  void (*softmax)(const ScoreColumns& scores, float* x, float* peaks, float* inverse_sums);
  /// From scores and what softmax left: scores become shares, and gradients of shares become those of
  /// scores. `dots` is the sum of shares times gradients of each query.
  void (*softmax_backward)(const ScoreColumns& scores, const float* peaks, const float* inverse_sums,
                           const float* dots, float* x, float* gradients);
  /// The sum of a b along each row; rows are `step` apart.
  void (*row_dots)(std::int64_t rows, std::int64_t columns, std::int64_t step, const float* a, const float* b,
                   float* dots);
};

/// Steps of recurrent layers, as in engine/math/recurrent.h.
struct RecurrentKernels {
  void (*lstm_step)(std::int64_t rows, std::int64_t units, const float* bias, const float* c_before,
                    float* gates, float* c, float* tanh_c, float* h, std::int64_t h_step);
  void (*lstm_step_backward)(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                             const float* c_before, const float* tanh_c, float* dc, float* gates);
  void (*gru_step)(std::int64_t rows, std::int64_t units, const float* bias, const float* recurrent_bias,
                   const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent,
                   float* h, std::int64_t h_step);
  void (*gru_step_backward)(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                            const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent,
                            float* dh_before, std::int64_t dh_before_step);
};

/// Rows of A or columns of B: element k of row i lies at data + i step + k k_step, and one of the steps is 1.
struct Operand {
  const float* data;
  std::int64_t step, k_step;
};

/// C = A B + beta C; k is not 0.
struct Product {
  std::int64_t m, n, k;
  Operand a, b;
  float beta;
  float* c;
  std::int64_t ldc;
};

/// A product A_g B_g of each group of k, added along a tree (engine/core/sum_tree.h). Every group's is a
/// chain from 0.
struct TreeProduct {
  static constexpr std::int64_t kMaxDepth = 12;  ///< sums that are kept at a time

  std::int64_t m, n;
  Operand a, b;
  std::int64_t groups;
  const std::int64_t* ends;  ///< of each group along k
  const int* merges;         ///< after each group: how often the last two sums are added
  float* const* roots;       ///< C for each sum that remains
  std::int64_t root_count;
  std::int64_t ldc;
};

/// Memory of the calling thread for what its products pack: at least so many floats, aligned to a page:
/// steps take the same time wherever it lies. A thread that multiplies nothing has none.
float* product_memory(std::int64_t floats);

struct GemmKernels {
  void (*multiply)(const Product& product);
  std::int64_t panel;     ///< columns of B that are taken together
  bool faster_than_blas;  ///< OpenBLAS' products
  void (*multiply_along_tree)(const TreeProduct& product);
  std::int64_t tree_k;  ///< the most k of all groups together
};

/// Products of float operands rounded to bfloat16, with sums in float, as bfloat16_pairs.h defines them; in
/// every instruction set the same bits for the same order of sums.
struct Bfloat16Kernels {
  std::int64_t scratch;  ///< floats that multiply() needs
  void (*multiply)(const Product& product, float* scratch);
  /// Those of ConvolutionKernels on pairs: an element of x, w and dy holds two values, and an output is a sum
  /// over both. Only y and dw are floats.
  const ConvolutionKernels* convolution;
  /// pairs[i] = (even[i], odd[i]); without `odd` (null) zeros.
  void (*pair_rows)(std::int64_t count, const float* even, const float* odd, float* pairs);
  /// pairs[i] = (x[2 i], x[2 i + 1]), with zero behind the last of an odd count.
  void (*pair_columns)(std::int64_t count, const float* x, float* pairs);
};

/// All kernels for one instruction set.
struct Kernels {
  const char* name;
  const ElementwiseKernels* elementwise;
  const NormalizationKernels* normalization;
  const PoolingKernels* pooling;
  const ConvolutionKernels* convolution;
  const DepthwiseKernels* depthwise;
  const ActivationKernels* activations;
  const UpdateKernels* updates;
  const SquareSumKernels* square_sum;
  const RecurrentKernels* recurrent;
  const AttentionKernels* attention;
  const GemmKernels* gemm;
  const ChecksumKernels* checksum;
  const RandomKernels* random;
};

/// Those in use; see instruction_set.h.
const Kernels& kernels();
const Bfloat16Kernels& bfloat16_kernels();

/// One instruction set that this build has kernels for.
struct KernelVariant {
  const char* setting;  ///< as in TRAINER_INSTRUCTIONS
  bool (*supported)();
  const Kernels* kernels;
  const Kernels* const* portable;  ///< with fused multiply-adds, if need be in software
  const Bfloat16Kernels* bfloat16;
};

/// The variants built for this kind of processor, from the plainest to the fastest; ends with a null setting.
extern const KernelVariant kernel_variants[];

}  // namespace trainer
