#include "models/checkpoints/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/config/source.h"
#include "engine/system/crc32.h"
#include "engine/system/files.h"
#include "models/checkpoints/data_json.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// An error that names a checkpoint to use instead of the damaged one at `place`, if there is one.
Error with_offer(Diagnostic diagnostic, const fs::path& place) {
  const auto step = checkpoint_step(place.filename().string());
  const std::vector<std::int64_t> steps = checkpoint_steps(place.parent_path());
  const auto next = std::ranges::lower_bound(steps, step.value_or(0));
  if (step && next != steps.begin())
    diagnostic.help = fmt::format("the checkpoint before it: trainer {}",
                                  (place.parent_path() / checkpoint_name(*(next - 1))).string());
  if (is_link_name(place) && !steps.empty())
    diagnostic.help = fmt::format("rm -r {}, and the newest checkpoint beside it is used", place.string());
  return {ExitCode::weights, {std::move(diagnostic)}};
}

CheckpointState read_state(const fs::path& path) {
  const std::string text = read_file(path, ExitCode::weights, kMaxStateBytes);
  try {
    return parse_checkpoint_state(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} {}", path.string(), error.diagnostics().front().what));
  }
}

CheckpointState check_files(const fs::path& directory) {
  CheckpointState state = read_state(directory / kStateFile);
  for (const char* name : {kModelFile, kOptimizerFile, kDataFile}) {
    const auto seal = state.files.find(name);
    // Earlier programs kept no data.json.
    if (name == kDataFile && seal == state.files.end()) continue;
    if (seal == state.files.end() || seal_of(directory / name) != seal->second)
      throw Error(ExitCode::weights,
                  fmt::format("{} is damaged: its checksum is wrong", (directory / name).string()));
  }
  return state;
}

}  // namespace

std::int64_t step_behind(const fs::path& link) {
  try {
    const fs::path place = named_checkpoint(link);
    return place != link ? checkpoint_step(place.filename().string()).value()
                         : read_state(link / kStateFile).step;
  } catch (const Error&) {
    return -1;
  }
}

FileSeal seal_of(const fs::path& path) {
  constexpr std::size_t kPart = 1 << 20;
  const InputFile file(path, ExitCode::weights);
  FileSeal seal{.bytes = file.size()};
  std::vector<std::byte> part(std::min<std::uint64_t>(kPart, seal.bytes));
  for (std::uint64_t at = 0; at < seal.bytes; at += part.size()) {
    const auto bytes = std::span(part).first(std::min<std::uint64_t>(part.size(), seal.bytes - at));
    file.read(at, bytes);
    seal.crc32 = crc32_of(bytes, seal.crc32);
  }
  return seal;
}

CheckpointState verify_checkpoint(const fs::path& directory) {
  // Messages name the checkpoint that `last` points at.
  const fs::path place = present_checkpoint(directory);
  CheckpointState state;
  try {
    state = check_files(place);
  } catch (const Error& error) {
    throw with_offer(error.diagnostics().front(), place);
  }
  if (checkpoint_step(place.filename().string()).value_or(state.step) != state.step)
    throw damaged_state(place, fmt::format("it is of step {}", state.step));
  return state;
}

std::optional<DataDescription> read_data_description(const fs::path& directory) {
  const fs::path path = named_checkpoint(directory) / kDataFile;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::string text = read_file(path, ExitCode::weights, kMaxDataBytes);
  try {
    return parse_data_description(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} {}", path.string(), error.diagnostics().front().what),
                error.diagnostics().front().help);
  }
}

std::vector<std::string> differences_of_data(const fs::path& directory, const std::string& then,
                                             const Data& data) {
  std::vector<std::string> lines{"then: " + then, "now: " + fingerprint_text(data)};
  const auto learned = read_data_description(directory);
  if (!learned) return lines;
  const std::vector<std::string>&before = learned->info.class_names, &after = data.train->info().class_names;
  const auto [old_name, new_name] = std::ranges::mismatch(before, after);
  const auto quoted = [](const auto& at, const auto& names) {
    return at == names.end() ? std::string("none") : in_quotes(*at);
  };
  if (old_name != before.end() || new_name != after.end())
    lines.push_back(fmt::format("class {} was {}, and is {}", old_name - before.begin(),
                                quoted(old_name, before), quoted(new_name, after)));
  return lines;
}

void check_samples(const fs::path& directory, const Data& data) {
  const auto learned = read_data_description(directory);
  if (learned && has_other_samples(*learned, data))
    throw Error(ExitCode::data,
                {Diagnostic{.what = "the data is not what the run learned from",
                            .place = directory.string(),
                            .notes = {"files of the same names and sizes have other samples"}}});
}

Error damaged_state(const fs::path& directory, const std::string& what) {
  const fs::path place = named_checkpoint(directory);
  return with_offer({.what = fmt::format("{} is damaged: {}", (place / kStateFile).string(), what)}, place);
}

Checkpoint read_checkpoint(const fs::path& directory) {
  CheckpointState state = verify_checkpoint(directory);
  return {.model = read_safetensors(directory / kModelFile).tensors,
          .optimizer = read_safetensors(directory / kOptimizerFile).tensors,
          .state = std::move(state)};
}

}  // namespace trainer
