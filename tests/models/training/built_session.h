#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/config/config_tree.h"
#include "models/training/session.h"

namespace trainer {

/// A session on samples that a test has made.
class BuiltSession {
 public:
  /// YAML: a list of layers, a loss, members of `train`, and of `data`.
  struct Text {
    std::string layers, loss, train, data = "{}";
  };
  BuiltSession(Communicator& world, const Text& text, Data data, const Mesh::Options& mesh = {});

  /// Trains, with checkpoints in the folder: the losses of all steps, then loss and metrics of the test
  /// samples.
  std::vector<double> train(const std::filesystem::path& folder);
  Session& session() { return session_; }

 private:
  ConfigTree tree_;
  Mesh mesh_;
  ThreadPool pool_;
  Session session_;
};

}  // namespace trainer
