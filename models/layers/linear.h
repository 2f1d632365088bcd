#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/range.h"
#include "engine/math/gemm.h"
#include "models/layers/pass.h"

namespace trainer {

class Tracer;
struct Value;

/// The product of a layer with a weight, y = x W on lines of x, and its gradients. A row of the batch has
/// `positions` lines. Where the bits of a product depend on the number of its lines (gemm_is_chained() is
/// false), each virtual worker has a product of its own; else all rows have one.
class Linear {
 public:
  struct Extents {
    std::int64_t positions = 1, inputs = 0, outputs = 0;
  };

  Linear() = default;
  /// Declares a weight (inputs, outputs) and after it, where given, a bias (outputs).
  Linear(Plan& plan, const Extents& extents, Parameter weight, const std::optional<Parameter>& bias);
  /// Uses parameters that are declared; the bias may be null. `transposed`: the weight lies (outputs,
  /// inputs).
  Linear(const Extents& extents, ParameterId weight, ParameterId bias, bool transposed = false)
      : extents_(extents), weight_(weight), bias_(bias), transposed_(transposed) {}

  std::int64_t positions() const { return extents_.positions; }

  ParameterId weight() const { return weight_; }

  static Parameter weight(const Extents& extents, const std::string& name = "weight");
  static Parameter bias(std::int64_t outputs, const std::string& name = "bias");

  /// Products whose bits depend on their extents are cut at these inputs and outputs, too.
  void split_products(std::vector<std::int64_t> inputs, std::vector<std::int64_t> outputs);

  /// y = x W, without the bias; or y + x W.
  void forward(const float* x, float* y, const Pass& pass, bool adds = false) const {
    forward(x, all_lines(pass), {0, extents_.inputs}, y, pass, adds);
  }
  /// y = x W, part by part as the weight arrives; waits for the bias, too. For a layer with
  /// Plan::acquires_parts() and no parameters behind these.
  void forward_in_parts(const float* x, float* y, Pass& pass) const;
  /// The part of that sum that these inputs give to some lines, of which y is the first; to all lines where
  /// bits depend on their number.
  void forward(const float* x, const Range& lines, const Range& inputs, float* y, const Pass& pass,
               bool adds = false) const;
  /// y + b, where there is a bias.
  void add_bias(float* y, const Pass& pass) const;
  /// Null without a bias.
  const float* bias_values(const Pass& pass) const { return bias_ ? pass.value(bias_).data() : nullptr; }
  /// The gradients of weight and bias, and dx = dy W' unless dx is null.
  void backward(const float* x, const float* dy, float* dx, Pass& pass) const {
    backward_parameters(x, dy, pass);
    if (dx) backward_data(dy, dx, pass);
  }
  /// The same for a layer with no parameters behind these: reports gradients before dx is computed.
  void backward_in_parts(const float* x, const float* dy, float* dx, Pass& pass) const;
  /// y = x W + b for x (N, ..., inputs).
  Value trace(Value x, Tracer& tracer) const;
  /// Those of the parameters alone; 0 for a weight with Parameter::is_frozen.
  void backward_parameters(const float* x, const float* dy, Pass& pass) const;
  void backward_data(const float* dy, float* dx, const Pass& pass, bool adds = false) const {
    backward_data(dy, all_lines(pass), {0, extents_.outputs}, dx, pass, adds);
  }
  /// The part of dx that these outputs give, or dx and that part; `lines` as in forward().
  void backward_data(const float* dy, const Range& lines, const Range& outputs, float* dx, const Pass& pass,
                     bool adds = false) const;

  // Of one virtual worker, whose `lines` begin at x, y and so on:
  void forward_lines(std::int64_t lines, const float* x, float* y, const Pass& pass) const;
  void weight_gradient_of_lines(std::int64_t lines, const float* x, const float* dy,
                                const VirtualWorker& worker, const Pass& pass) const;
  /// dx = dy W', or dx + dy W'.
  void backward_lines(std::int64_t lines, const float* dy, bool adds, float* dx, const Pass& pass) const;

 private:
  Range all_lines(const Pass& pass) const { return {0, pass.rows() * extents_.positions}; }
  Range lines_of(const VirtualWorker& worker) const {
    return {worker.first * extents_.positions, (worker.first + worker.count) * extents_.positions};
  }
  std::int64_t weight_row() const { return transposed_ ? extents_.inputs : extents_.outputs; }
  std::int64_t weight_at(std::int64_t input, std::int64_t output) const {
    return transposed_ ? output * extents_.inputs + input : input * extents_.outputs + output;
  }
  /// Inputs of a part of the weight.
  std::int64_t inputs_of_part() const;
  template <class Product>
  void for_each_product(const Pass& pass, const Range& lines, const std::vector<std::int64_t>& borders,
                        std::int64_t extent, Product product) const;
  void find_weight_gradient(const float* x, const float* dy, const Range& lines, const Range& inputs,
                            float beta, float* dw) const;
  void find_bias_gradient(const float* dy, const VirtualWorker& worker, Pass& pass) const;
  bool sum_in_product(const float* x, const float* dy, Pass& pass) const;
  void sum_weight_gradient(const float* x, const float* dy, Pass& pass) const;

  Extents extents_;
  ParameterId weight_, bias_;
  bool transposed_ = false, is_frozen_ = false;
  std::vector<std::int64_t> input_borders_, output_borders_;  ///< empty: not cut
  std::int64_t inputs_at_once_ = 0;  ///< whose gradients, of all virtual workers, the cache holds
  Buffer<> gradients_at_once_;
};

}  // namespace trainer
