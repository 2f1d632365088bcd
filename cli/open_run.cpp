#include "cli/open_run.h"

namespace trainer {

OpenRun open_run(const std::string& file, const std::vector<std::string>& overrides, Mesh& mesh,
                 ThreadPool& pool, bool headers_only) {
  OpenRun run{.config = ConfigTree({.file = file, .overrides = overrides}, run_settings())};
  const Config root = run.config.root();
  const auto seed = static_cast<std::uint64_t>(root.at("train").get<std::int64_t>("seed"));
  Data data = open_data(root.at("data"), seed, headers_only);
  const int classes = data.train->classes();
  run.config.define("classes", classes > 0 ? std::to_string(classes) : "");
  run.config.define("vocab", "");
  run.session = std::make_unique<Session>(root, std::move(data), mesh, pool);
  return run;
}

}  // namespace trainer
