#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"
#include "engine/config/config_tree.h"
#include "models/training/session.h"

namespace trainer {

/// A run's YAML, checked, with its data and its model. Pinned: the session points into the tree.
struct OpenRun {
  ConfigTree config;
  std::unique_ptr<Session> session;
};

/// Reads the YAML and the headers of the data that it names; makes no collective call.
OpenRun open_run(const ConfigSource& source, Mesh& mesh, ThreadPool& pool);

/// Mistakes that a config and the number of ranks show by themselves, before any process is started for it.
void check_before_launch(const Arguments& arguments);

/// Gives what the data decides, $classes and $vocab, its value.
void define_by_data(ConfigTree& config, const Data& data);

/// Puts the samples into memory, once a host. Collective over the world.
void load_samples(Session& session);

}  // namespace trainer
