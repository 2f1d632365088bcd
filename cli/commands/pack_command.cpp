#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/commands/packed_set.h"
#include "cli/terminal/folder_path.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "datasets/loading/data.h"

namespace trainer {

void pack_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  require_one_process(job);
  const ConfigTree config(config_source(arguments.files, arguments.overrides), run_settings());
  const Config root = config.root();
  const auto seed = static_cast<std::uint64_t>(root.at("train").get<std::int64_t>("seed"));
  std::string notice;
  DataSource source = open_source(root.at("data"), seed, "", notice);
  if (notice.empty()) notice = source.notice;
  if (!notice.empty()) job.warn("warning: " + notice + "\n");
  const std::filesystem::path out = without_slash(arguments.out);
  constexpr std::uint64_t kMebibyte = 1 << 20;
  const PackedSet set =
      pack_set(std::move(source), out, static_cast<std::uint64_t>(arguments.shard_size) * kMebibyte);
  for (const auto& [name, split] : {std::pair{"train", &set.train}, {"test", &set.test}})
    if (split->samples > 0)
      job.print(fmt::format("{:<6}{} in {}, {}\n", name, counted(split->samples, "sample"),
                            counted(split->shards, "shard"), bytes_text(split->bytes)));
  const std::string place = shell_line({out.string()});
  job.print(fmt::format("saved {}   check: cd {} && sha256sum -c SHA256SUMS\n", place, place));
  job.print(fmt::format("use: data: {}\n", set.config));
}

}  // namespace trainer
