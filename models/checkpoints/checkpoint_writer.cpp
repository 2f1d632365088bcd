#include "models/checkpoints/checkpoint_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "engine/core/index.h"
#include "engine/core/little_endian.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/crc32.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/weights.h"
#include "models/formats/layout.h"

namespace trainer {
namespace {

enum File { kModel, kOptimizer };
constexpr const char* kWriting = "the writing of a checkpoint";
constexpr std::array kFileNames{kModelFile, kOptimizerFile};

/// A writer's report to rank 0 about one of its runs.
struct RunReport {
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
};

std::string text_of_failure(const std::string& path, int error) {
  return fmt::format("cannot write {}: {}", path, std::generic_category().message(error));
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ExitCode::failure, text_of_failure(path, error));
}

/// The message of the error that `work` throws; empty if there is none.
std::string message_of_failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.diagnostics().front().what;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A writer's runs: the model, each of the optimizer's states; rank 0's then the layers' states of both
/// files, and both heads.
using Reports = std::vector<RunReport>;
/// Begins the message of a rank that has written all; else the message is its error.
constexpr char kSuccess = '\0';

/// Those of the writers, from the messages of all ranks; `failure`: the first error among them.
std::vector<Reports> reports_of(const std::vector<std::vector<std::byte>>& messages, std::string& failure) {
  std::vector<Reports> all;
  for (const std::vector<std::byte>& bytes : messages) {
    const std::string message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (message.front() != kSuccess) {
      if (failure.empty()) failure = message;
      continue;
    }
    Reports reports((message.size() - 1) / sizeof(RunReport));
    if (reports.empty()) continue;  // no writer
    std::memcpy(reports.data(), message.data() + 1, reports.size() * sizeof(RunReport));
    all.push_back(std::move(reports));
  }
  return all;
}

/// Of both files, from the reports of rank 0 and the other writers in the order of their runs.
std::array<FileSeal, 2> joined_seals(const std::vector<Reports>& reports, std::size_t states) {
  std::array<FileSeal, 2> seals;
  const auto append = [&](int file, const RunReport& report) {
    FileSeal& whole = seals[at(file)];
    whole = {.bytes = whole.bytes + report.bytes,
             .crc32 = joined_crc32(whole.crc32, report.crc32, report.bytes)};
  };
  const Reports& first = reports.front();
  append(kModel, first[states + 3]);
  append(kOptimizer, first[states + 4]);
  for (const Reports& writer : reports) append(kModel, writer[0]);
  append(kModel, first[states + 1]);
  for (std::size_t state = 0; state < states; ++state)
    for (const Reports& writer : reports) append(kOptimizer, writer[1 + state]);
  append(kOptimizer, first[states + 2]);
  return seals;
}

std::uint64_t bytes_of(const Shape& shape) {
  return static_cast<std::uint64_t>(shape.size()) * sizeof(float);
}

}  // namespace

CheckpointWriter::CheckpointWriter(Sources sources, CheckpointFolder folder)
    : sources_(std::move(sources)),
      shard_states_(sources_.optimizer_states.size()),
      folder_(std::move(folder)) {
  if (sources_.hosted) {
    const std::vector<std::string>& names = sources_.hosted->names();
    sources_.optimizer_states.insert(sources_.optimizer_states.end(), names.begin(), names.end());
  }
  Communicator& world = sources_.mesh.world();
  Communicator& data = sources_.mesh.data();
  std::int64_t strangers = world.size() - world.split_by_host()->size();
  world.sum(std::span(&strangers, 1));
  several_hosts_ = strangers > 0;

  const ParameterWindows& windows = sources_.windows;
  const std::int64_t border = windows.border(), end = sources_.plan.parameter_end();
  if (windows.front()) add_updaters(world, *windows.front(), {0, border}, sources_.mesh.model().size());
  add_updaters(data, windows.rest(), {border, end}, 1);

  const NetworkPlan& plan = sources_.plan;
  std::vector<TensorEntry> model, optimizer;
  for (const Parameter& parameter : plan.parameters())
    model.push_back({parameter.name, file_shape(parameter.layout, parameter.whole_shape())});
  for (const std::string& state : sources_.optimizer_states)
    for (std::size_t i = 0; i < plan.parameters().size(); ++i)
      optimizer.push_back({model[i].name + "." + state, model[i].shape});
  for (const State& state : plan.states())
    (state.use == StateUse::model ? model : optimizer).push_back({state.name, state.shape});
  const auto lay_out = [](const std::vector<TensorEntry>& entries, std::string& head,
                          std::vector<std::uint64_t>& offsets) {
    head = safetensors_head(entries);
    offsets.push_back(head.size());
    for (const TensorEntry& entry : entries) offsets.push_back(offsets.back() + bytes_of(entry.shape));
  };
  lay_out(model, heads_[kModel], model_offsets_);
  lay_out(optimizer, heads_[kOptimizer], optimizer_offsets_);
  first_parameter_ = cuts(plan.parameters(), data.size());
}

CheckpointWriter::~CheckpointWriter() {
  if (parts_thread_.joinable()) parts_thread_.join();
  if (commit_thread_.joinable()) commit_thread_.join();
  if (open_) folder_.abandon();
}

/// Uses the sizes of whole parameters: the ranks of a model column hold unequal shards and need the same
/// result.
std::vector<std::size_t> CheckpointWriter::cuts(const std::vector<Parameter>& parameters, int writers) {
  const auto size = [](const Parameter& parameter) { return parameter.whole_shape().size(); };
  std::int64_t total = 0;
  for (const Parameter& parameter : parameters) total += size(parameter);
  std::vector<std::size_t> first(1, 0);
  std::size_t next = 0;
  std::int64_t passed = 0;
  for (int writer = 1; writer < writers; ++writer) {
    while (next < parameters.size() && passed < total / writers * writer) passed += size(parameters[next++]);
    first.push_back(next);
  }
  first.push_back(parameters.size());
  return first;
}

bool CheckpointWriter::is_writer() const {
  return sources_.mesh.model().rank() == 0 && at(sources_.mesh.data().rank()) + 1 < first_parameter_.size();
}

void CheckpointWriter::begin(const CheckpointState& state, bool best, const std::function<void()>& prepare) {
  Communicator& world = sources_.mesh.world();
  if (open_) end_parts();
  std::string directory, failure;
  const auto make = [&] {
    prepare();
    wait_for_commit();
    begun_ = Clock::now();
    directory = folder_.begin(state.step).string();
    open_ = true;
    for (const char* name : kFileNames) {
      const std::string path = directory + "/" + name;
      const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
      if (file.number() < 0) fail(path, errno);
    }
  };
  with_disk(world, kWriting, world.rank() == 0, [&] {
    try {
      make();
    } catch (const Error& error) {
      if (error.code() != ExitCode::failure) throw;
      failure = error.diagnostics().front().what;
    }
  });
  throw_first_of(failure);
  broadcast_text(world, directory);
  directory_ = directory;
  state_ = state;
  best_ = best;
  open_files(directory);
  copy_values();
  open_ = true;
  writing_ = true;
  parts_thread_ = std::thread([this] { write_parts(); });
}

void CheckpointWriter::open_files(const std::string& directory) {
  Communicator& world = sources_.mesh.world();
  const auto open_all = [&] {
    files_.clear();
    for (const char* name : kFileNames) {
      // Hosts that write to one page must not cache it: O_DSYNC writes through.
      const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (several_hosts_ ? O_DSYNC : 0);
      files_.emplace_back(::open((directory + "/" + name).c_str(), flags));
      if (files_.back().number() < 0) return errno;
    }
    return 0;
  };
  int error = 0;
  const auto open_mine = [&] { error = open_all(); };
  with_disk(world, kWriting, is_writer(), open_mine);
  if (!sees_directory_) {
    throw_first_of(error != 0 && world.rank() == 0 ? text_of_failure(directory, error) : "");
    // Ranks of other hosts may not see the file system of rank 0.
    std::int64_t refusals = error == 0 ? 0 : 1;
    world.sum(std::span(&refusals, 1));
    if (refusals > 0) first_parameter_ = cuts(sources_.plan.parameters(), 1);
    sees_directory_ = true;
  } else {
    throw_first_of(error == 0 ? "" : text_of_failure(directory, error));
  }
  if (!is_writer()) files_.clear();
}

/// The first failure of any rank to begin, on all ranks. Collective.
void CheckpointWriter::throw_first_of(const std::string& mine) {
  Communicator& world = sources_.mesh.world();
  std::string first;
  for (const std::vector<std::byte>& bytes : world.gather(std::as_bytes(std::span(mine)), 0))
    if (first.empty()) first.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  broadcast_text(world, first);
  if (first.empty()) return;
  if (world.rank() == 0) folder_.abandon();
  open_ = false;
  throw UnwritableCheckpoint(first);
}

/// Adds the whole tensors of a run's copy.
void CheckpointWriter::join_tensors(Run& run) const {
  const auto mine = parameters_of(sources_.mesh.data().rank());
  for (const Parameter& parameter : mine) {
    const auto values = std::span<const float>(run.copy).subspan(at(parameter.offset - mine.front().offset),
                                                                 at(parameter.shape.size()));
    Tensor& tensor = run.tensors.emplace_back(Tensor{&parameter, values, {}});
    if (parameter.shard_axis < 0) continue;
    tensor.joined = whole_tensor(parameter, values, sources_.mesh.model());
    tensor.values = tensor.joined;
  }
}

/// A copy of the states of layers that have this use.
CheckpointWriter::Run CheckpointWriter::layer_states(StateUse use, int file, std::uint64_t offset) const {
  Run run{.file = file, .offset = offset};
  for (const State& state : sources_.plan.states()) {
    if (state.use != use) continue;
    const auto values = sources_.layer_states.subspan(at(state.offset), at(state.shape.size()));
    run.tensors.push_back({.joined = {values.begin(), values.end()}});
    run.tensors.back().values = run.tensors.back().joined;
  }
  return run;
}

/// Its memory, from now on.
void CheckpointWriter::count(Run& run) {
  std::size_t floats = run.copy.size();
  for (const Tensor& tensor : run.tensors) floats += tensor.joined.size();
  run.counted = CountedBytes(MemoryKind::checkpoint, static_cast<std::int64_t>(floats * sizeof(float)));
}

void CheckpointWriter::copy_values() {
  runs_.clear();
  const std::size_t rank = at(sources_.mesh.data().rank());
  const std::size_t parameters = sources_.plan.parameters().size();
  const std::size_t first = rank + 1 < first_parameter_.size() ? first_parameter_[rank] : parameters;
  runs_.push_back({.file = kModel, .offset = model_offsets_[first], .copy = part_of_values()});
  for (std::size_t state = 0; state < sources_.optimizer_states.size(); ++state) {
    const auto of_shard = [&](const auto& visit) { sources_.shard.visit_state(state, visit); };
    runs_.push_back({.file = kOptimizer,
                     .offset = optimizer_offsets_[state * parameters + first],
                     .copy = state < shard_states_ ? part_of_shards(of_shard)
                                                   : part_of_hosted_state(state - shard_states_)});
  }
  for (Run& run : runs_) {
    join_tensors(run);
    count(run);
  }
  if (rank == 0) {
    // States of layers follow the parameters.
    runs_.push_back(layer_states(StateUse::model, kModel, model_offsets_[parameters]));
    runs_.push_back(layer_states(StateUse::training, kOptimizer,
                                 optimizer_offsets_[sources_.optimizer_states.size() * parameters]));
    for (const int file : {kModel, kOptimizer}) runs_.push_back({.file = file, .head = heads_[at(file)]});
  }
  if (!is_writer()) runs_.clear();
}

void CheckpointWriter::write_parts() {
  failure_ = message_of_failure([this] {
    if (sources_.mesh.world().rank() == 0) reserve_room();
    for (Run& run : runs_) write_run(run);
    for (Run& run : runs_) flush_run(run);
    for (std::size_t file = 0; file < files_.size(); ++file)
      if (::fsync(files_[file].number()) != 0) fail((directory_ / kFileNames[file]).string(), errno);
  });
  writing_ = false;
}

/// Reserves the files' bytes, so that a full disk is an error before anything is written, if the file system
/// can.
void CheckpointWriter::reserve_room() const {
  for (const int file : {kModel, kOptimizer}) {
    const std::uint64_t bytes = file == kModel ? model_offsets_.back() : optimizer_offsets_.back();
    if (::fallocate(files_[at(file)].number(), 0, 0, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS)
      fail((directory_ / kFileNames[at(file)]).string(), errno);
  }
}

void CheckpointWriter::write_run(Run& run) {
  // Small tensors are gathered into one buffer, large ones written in place: few system calls, few copies.
  constexpr std::size_t kPart = std::size_t{4} << 20;
  std::string gathered;
  std::uint64_t offset = run.offset;
  const auto write = [&](std::span<const std::byte> bytes) {
    run.seal.crc32 = crc32_of(bytes, run.seal.crc32);
    run.seal.bytes += bytes.size();
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(files_[at(run.file)].number(), bytes.data(),
                                     std::min(bytes.size(), kPart), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail((directory_ / kFileNames[at(run.file)]).string(), errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
      ++parts_done_;
    }
  };
  const auto flush = [&] {
    write(std::as_bytes(std::span(gathered)));
    gathered.clear();
  };
  gathered = run.head;
  for (Tensor& tensor : run.tensors) {
    std::vector<float> converted;
    if (tensor.parameter && tensor.parameter->layout != FileLayout::as_in_memory) {
      converted = to_file_layout(tensor.parameter->layout, tensor.parameter->whole_shape(), tensor.values);
      tensor.values = converted;
    }
    if (gathered.size() + tensor.values.size_bytes() > kPart) flush();
    const LittleEndian values(tensor.values);
    if (values.bytes().size() > kPart)
      write(values.bytes());
    else
      gathered += values.text();
    tensor = {};
  }
  flush();
}

/// Flushes to the disk in chunks and counts each for the heartbeat. fsync() reports errors later.
void CheckpointWriter::flush_run(const Run& run) {
  constexpr std::uint64_t kPart = std::uint64_t{16} << 20;
  constexpr unsigned kWholly =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  for (std::uint64_t done = 0; done < run.seal.bytes; done += kPart, ++parts_done_)
    ::sync_file_range(files_[at(run.file)].number(), static_cast<off_t>(run.offset + done),
                      static_cast<off_t>(std::min(kPart, run.seal.bytes - done)), kWholly);
}

void CheckpointWriter::poll(bool all_written) {
  if (open_ && all_written) end_parts();
  if (commit_thread_.joinable() && !committing_) wait_for_commit();
}

void CheckpointWriter::finish() {
  if (open_) end_parts();
  wait_for_all(sources_.mesh.world(), kWriting, [this] { return !committing_; });
  wait_for_commit();
}

/// Collects the writers' reports.
void CheckpointWriter::end_parts() {
  Communicator& world = sources_.mesh.world();
  wait_for_all(
      world, kWriting, [this] { return !writing_; }, [this] { return parts_done_.load(); });
  parts_thread_.join();
  files_.clear();
  std::string message = failure_;
  if (failure_.empty()) {
    message.assign(1, kSuccess);
    for (const Run& run : runs_) {
      const RunReport report{run.seal.bytes, run.seal.crc32};
      message.append(reinterpret_cast<const char*>(&report), sizeof report);
    }
  }
  runs_.clear();
  std::string failure;
  const std::vector<Reports> reports =
      reports_of(world.gather(std::as_bytes(std::span(message)), 0), failure);
  broadcast_text(world, failure);
  open_ = false;
  if (!failure.empty()) {
    if (world.rank() == 0) folder_.abandon();
    throw Error(ExitCode::failure, failure);
  }
  if (world.rank() != 0) return;
  const std::array<FileSeal, 2> seals = joined_seals(reports, sources_.optimizer_states.size());
  for (std::size_t file = 0; file < seals.size(); ++file) state_.files[kFileNames[file]] = seals[file];
  committing_ = true;
  commit_thread_ = std::thread([this] { commit(); });
}

void CheckpointWriter::commit() {
  failure_ = message_of_failure([this] {
    // A file that several hosts wrote is read back.
    if (several_hosts_)
      for (const char* name : kFileNames)
        if (seal_of(directory_ / name) != state_.files.at(name))
          throw Error(ExitCode::failure,
                      fmt::format("{} differs from what was written", (directory_ / name).string()));
    folder_.commit(state_, best_);
  });
  if (!failure_.empty()) folder_.abandon();
  committing_ = false;
}

void CheckpointWriter::wait_for_commit() {
  if (!commit_thread_.joinable()) return;
  commit_thread_.join();
  longest_ = std::max(longest_, Clock::now() - begun_);
  if (!failure_.empty()) throw Error(ExitCode::failure, failure_);
}

}  // namespace trainer
