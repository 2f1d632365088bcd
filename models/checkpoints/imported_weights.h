#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/config/config.h"
#include "engine/core/flat_values.h"
#include "models/checkpoints/name_map.h"
#include "models/formats/safetensors.h"
#include "models/network/network.h"

namespace trainer {

/// A file of initial weights, which may be of another model or another program (`model.weights`), or a
/// directory of Hugging Face.
struct WeightSource {
  std::string file;
  std::vector<std::string> except = {};  ///< layers that keep their values
  NameMap names = {};                    ///< of the file's tensors in the model
};
/// Error(usage) if a rule of the names is none.
WeightSource weight_source(const Config& weights);

/// Which tensors of a file a model takes.
struct WeightMatch {
  struct Taken {
    std::string name, name_in_file;
    Shape shape;  ///< in files
  };
  std::vector<Taken> taken;          ///< parameters, then states, in the order of the model
  std::vector<TensorEntry> initial;  ///< of the model, in layers that keep their values
  std::vector<TensorEntry> unused;   ///< of the file
};

/// Error(weights) if a tensor of the model is missing or has another shape, two tensors of the file are
/// the same one of the model, or a rule fits no tensor; Error(usage) if no layer has the name of an excepted
/// one.
WeightMatch match_weights(const WeightSource& source, const Network& network);
/// The same, and loads this rank's shard of the tensors. Not collective.
WeightMatch import_weights(const WeightSource& source, const Network& network,
                           const FlatValues<float>& values, std::span<float> states);

// The same of a file, for a plan.
WeightMatch match_weights(const WeightSource& source, const NetworkPlan& plan);
WeightMatch import_weights(const WeightSource& source, const NetworkPlan& plan,
                           const FlatValues<float>& values, std::span<float> states);

}  // namespace trainer
