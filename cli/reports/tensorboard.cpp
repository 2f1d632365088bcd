#include "cli/reports/tensorboard.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/reports/run_log.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint_paths.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// CRC-32C (Castagnoli), RFC 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82F63B78U : 0);
  }
  return ~sum;
}

std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8U, 4);
}

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t number) {
  std::string text;
  for (; number >= 0x80; number >>= 7) text += static_cast<char>(number | 0x80);
  return text + static_cast<char>(number);
}

/// A field of a protocol buffer, before its content.
std::string field(int number, WireType type) {
  return varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(type));
}

std::string bytes_field(int number, std::string_view bytes) {
  return field(number, WireType::bytes) + varint(bytes.size()) + std::string(bytes);
}

std::string double_field(int number, double value) {
  return field(number, WireType::fixed64) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}

std::vector<std::pair<std::string, double>> scalars(const RunLog& log, const RunLog::Row& row) {
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < log.names.size(); ++i) values.emplace_back(log.names[i], row.scores[i]);
  if (row.is_training) {
    values.emplace_back("lr", row.rate);
    values.emplace_back("examples_per_second", row.examples_per_second);
    values.emplace_back("comm_share", row.comm_share);
    values.emplace_back("wait_share", row.wait_share);
    values.emplace_back("data_share", row.data_share);
  }
  return values;
}

/// `folder`, which exists then. Error(failure) if it is a link, which may lead out of the run.
const fs::path& own_folder(const fs::path& folder) {
  refuse_link(folder);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error || !fs::is_directory(folder, error))
    throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", folder.string(),
                                               error ? error.message() : "it is no directory"));
  return folder;
}

}  // namespace

std::string tfrecord(std::string_view content) {
  const std::string length = little_endian(content.size(), 8);
  return length + masked_crc(length) + std::string(content) + masked_crc(content);
}

std::string scalar_event(std::int64_t step, double time, std::string_view tag, float value) {
  const std::string summary = bytes_field(1, bytes_field(1, tag) + field(2, WireType::fixed32) +
                                                 little_endian(std::bit_cast<std::uint32_t>(value), 4));
  return double_field(1, time) + field(2, WireType::varint) + varint(static_cast<std::uint64_t>(step)) +
         bytes_field(5, summary);
}

fs::path write_tensorboard(const fs::path& run) {
  const RunLog log = read_run_log(run);
  // TensorBoard reads files of this version only.
  const std::string version = tfrecord(double_field(1, 0) + bytes_field(3, "brain.Event:2"));
  std::string training = version, evaluation = version;
  for (const RunLog::Row& row : log.rows)
    for (const auto& [tag, value] : scalars(log, row))
      if (std::isfinite(value) && std::isfinite(row.time))
        (row.is_training ? training : evaluation) +=
            tfrecord(scalar_event(row.step, row.time, tag, static_cast<float>(value)));
  fs::path folder = run / "tensorboard";
  const auto write = [&](const std::string& split, const std::string& events) {
    const fs::path inside = own_folder(own_folder(folder) / split),
                   file = inside / "events.out.tfevents.0.trainer";
    refuse_link(file);
    write_file(file, events);
  };
  write("train", training);
  if (!log.evaluation_split.empty()) write(log.evaluation_split, evaluation);
  return folder;
}

}  // namespace trainer
