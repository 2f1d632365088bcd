#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace trainer {

/// One record of TensorFlow's TFRecord format: length, masked CRC-32C of the length, content, masked CRC-32C
/// of the content; numbers are little-endian.
std::string tfrecord(std::string_view content);

/// A scalar as a serialized protocol buffer `Event` of TensorFlow. `time`: seconds.
std::string scalar_event(std::int64_t step, double time, std::string_view tag, float value);

/// Writes RUN/tensorboard/SPLIT/events.out.tfevents.0.trainer for training and evaluation: loss, metrics and,
/// for training, lr, examples_per_second, comm_share, wait_share and data_share. A value that is not finite
/// is left out. Links are not followed. Event times are seconds since the start of the run. Returns
/// RUN/tensorboard.
std::filesystem::path write_tensorboard(const std::filesystem::path& run);

}  // namespace trainer
