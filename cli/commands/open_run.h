#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"
#include "datasets/loading/data_description.h"
#include "engine/config/config_tree.h"
#include "models/training/session.h"

namespace trainer {

/// A checked configuration with its data and its model. The session points into the tree.
struct OpenRun {
  ConfigTree config;
  std::unique_ptr<Session> session;
};

/// The configuration of `files`, each of which changes keys of those before, and of -s. If the first is a
/// pipe, its text is read here, once.
ConfigSource config_source(const std::vector<std::string>& files, std::vector<std::string> overrides);

/// Reads the YAML and the headers of the data that it names; makes no collective call. `learned`: of
/// learn_once(); empty: each rank learns it. `trained`: statistics that normalise the data instead of its
/// own; may be null.
OpenRun open_run(const ConfigSource& source, Mesh& mesh, ThreadPool& pool, const std::string& learned = "",
                 const DataDescription* trained = nullptr);

/// What rank 0 learns of the data before it is opened (learn_data()), on all ranks. Collective.
std::string learn_once(const ConfigSource& source, Communicator& world);

/// Reports mistakes of the config and the number of ranks before any process is started.
void check_before_launch(const Arguments& arguments);

/// Sets $classes and $vocab, which the data decides.
void define_by_data(ConfigTree& config, const DatasetInfo& info);

/// Loads the samples into memory, once for each host. Collective over the world.
void load_samples(Session& session);

}  // namespace trainer
