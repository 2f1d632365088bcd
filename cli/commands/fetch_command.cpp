#include <fmt/format.h>

#include <numeric>

#include "cli/commands/commands.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/output.h"
#include "cli/terminal/renewed_line.h"
#include "cli/terminal/text.h"
#include "datasets/fetching/fetch.h"
#include "engine/config/emit.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::int64_t bytes_of(const PublicSet& set) {
  return std::transform_reduce(set.files.begin(), set.files.end(), std::int64_t{0}, std::plus(),
                               [](const PublicFile& file) { return file.bytes; });
}

std::string list_of_sets() {
  std::vector<std::vector<std::string>> rows;
  for (const PublicSet& set : public_sets()) rows.push_back({set.name, bytes_text(bytes_of(set)), set.help});
  return table(rows, 3);
}

/// Shows events on standard error; on a terminal also how much has arrived.
class FetchLines {
 public:
  void show(const FetchEvent& event) {
    switch (event.kind) {
      case FetchEvent::Kind::arriving:
        if (!arriving_.is_due()) return;
        return arriving_.show(fmt::format("{}: {:3}% of {}", event.file.name,
                                          100 * event.bytes / event.file.bytes,
                                          bytes_text(event.file.bytes)));
      case FetchEvent::Kind::fetched:
        return print(fmt::format("{}: fetched, {}\n", event.file.name, bytes_text(event.file.bytes)));
      case FetchEvent::Kind::present:
        return print(fmt::format("{}: already there\n", event.file.name));
      case FetchEvent::Kind::failed_mirror:
        return print(fmt::format("warning: {}\n", event.reason));
    }
  }

 private:
  void print(const std::string& line) {
    arriving_.end();
    print_message(line);
  }

  RenewedLine arriving_;
};

}  // namespace

void fetch_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  require_one_process(job);
  if (arguments.list) return job.print(list_of_sets());
  if (arguments.files.empty())
    throw Error(ExitCode::usage, "fetch requires the name of a dataset", "`trainer fetch --list` shows them");
  for (const std::string& name : arguments.files) find_public_set(name);
  const fs::path data = arguments.out.empty() ? data_directory() : fs::path(arguments.out);
  FetchLines lines;
  for (const std::string& name : arguments.files) {
    PublicSet set = find_public_set(name);
    if (!arguments.mirror.empty())
      for (PublicFile& file : set.files)
        file.urls.insert(
            file.urls.begin(),
            fmt::format("{}{}{}", arguments.mirror, arguments.mirror.ends_with('/') ? "" : "/", file.name));
    const fs::path folder = data / set.folder;
    fetch(set, folder, [&](const FetchEvent& event) { lines.show(event); });
    job.print(fmt::format("{} is in {}\n", set.name, folder.string()));
    job.print(fmt::format("use: data: {{dataset: {}{}}}\n", set.config,
                          arguments.out.empty() ? "" : ", path: " + yaml_text(data.string())));
  }
}

}  // namespace trainer
