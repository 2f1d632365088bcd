#include "datasets/inputs/array_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "datasets/inputs/text_samples.h"
#include "datasets/readers/byte_reader.h"
#include "datasets/readers/channels.h"
#include "datasets/readers/hdf5_dataset.h"
#include "datasets/readers/npy_array.h"
#include "datasets/readers/zip_file.h"
#include "engine/config/source.h"

namespace trainer {
namespace {

/// What an array holds for a model: rows of samples.
struct Rows {
  std::int64_t count = 0;
  std::int64_t positions = 0;  ///< of a sequence that is shorter than those of training; else 0
  bool channels_first = false;
};

/// Error(usage) if the rows of the array are no samples of the model.
Rows rows_of(const Shape& array, const DataDescription& data, const std::string& name) {
  const Shape& sample = data.info.sample;
  const auto is_sample = [&](const Shape& row, Rows& rows) {
    rows.channels_first =
        data.form.channels_first && sample.rank() == 3 && row == Shape{sample[2], sample[0], sample[1]};
    if (rows.channels_first || row == sample || (row.rank() == 0 && sample == Shape{1})) return true;
    if (sample.rank() == 3 && sample[2] == 1 && row == Shape{sample[0], sample[1]}) return true;
    const bool is_sequence = data.info.has_lengths || data.info.vocabulary > 0;
    if (!is_sequence || row.rank() != sample.rank() || row[0] > sample[0] ||
        row.without_front() != sample.without_front())
      return false;
    rows.positions = row[0] < sample[0] ? row[0] : 0;
    return true;
  };
  Rows rows;
  if (array.rank() > 0) {
    rows.count = array[0];
    if (is_sample(array.without_front(), rows)) return rows;
  }
  rows.count = 1;
  if (is_sample(array, rows)) return rows;
  throw Error(ExitCode::usage,
              fmt::format("{} holds an array {}; the model takes samples {}", name, array.text(),
                          data.form.channels_first ? channels_first_text(sample) : sample.text()),
              fmt::format("an array Nx{}", sample.text()));
}

class ArraySamples final : public SampleSource {
 public:
  /// `archive`: null, or what holds the array.
  ArraySamples(std::unique_ptr<ZipFile> archive, std::unique_ptr<ByteStream> bytes, std::string path,
               std::string name, const DataDescription& data)
      : archive_(std::move(archive)),
        array_(std::move(bytes)),
        path_(std::move(path)),
        name_(std::move(name)),
        sample_(data.info.sample),
        divisor_(data.form.has_pixels ? array_.input_divisor() : 1),
        rows_(rows_of(array_.shape(), data, name_)) {}

  Next next(RawSample& sample, bool) override {
    if (row_ == rows_.count) return Next::end;
    sample = {.kind = RawSample::Kind::values,
              .unit = RawSample::Unit::row,
              .file = name_,
              .place = row_,
              .positions = rows_.positions};
    const std::int64_t size =
        rows_.positions > 0 ? sample_.with_front(rows_.positions).size() / sample_[0] : sample_.size();
    sample.bytes.resize(static_cast<std::size_t>(size) * sizeof(float));
    const std::span<float> elements(reinterpret_cast<float*>(sample.bytes.data()),
                                    static_cast<std::size_t>(size));
    try {
      if (const std::string what = array_.read_next(elements, divisor_); !what.empty())
        sample.problem = fmt::format("{}[{}]: {}", name_, row_, what);
      if (++row_ == rows_.count) array_.finish();
    } catch (const Error& error) {
      // Nothing behind the damage can be read.
      row_ = rows_.count;
      sample.problem = problem_text(error);
      if (const std::size_t at = sample.problem.find(path_); at != std::string::npos)
        sample.problem.replace(at, path_.size(), name_);
    }
    if (rows_.channels_first) channels_to_the_end(sample_, elements);
    return Next::sample;
  }

 private:
  std::unique_ptr<ZipFile> archive_;
  NpyArray array_;
  std::string path_, name_;
  Shape sample_;
  float divisor_;
  Rows rows_;
  std::int64_t row_ = 0;
};

/// The array that `array` names; if that is empty, that of training or the only one.
std::string chosen_array(const std::vector<std::string>& names, const std::string& name,
                         const DataDescription& data, const std::string& array) {
  std::string chosen = array.empty() ? data.form.array : array;
  if (std::ranges::count(names, chosen) == 0) {
    if (!array.empty() || names.size() != 1)
      throw Error(ExitCode::usage,
                  array.empty() ? fmt::format("{} holds {} arrays: which one?", name, names.size())
                                : fmt::format("{} holds no array {}", name, in_quotes(array)),
                  "--array NAME: " + listed(names, "or"));
    chosen = names.front();
  }
  return chosen;
}

}  // namespace

std::unique_ptr<SampleSource> npy_samples(const std::string& path, const std::string& name,
                                          const DataDescription& data) {
  return std::make_unique<ArraySamples>(nullptr, std::make_unique<ByteReader>(path), path, name, data);
}

std::unique_ptr<SampleSource> npz_samples(const std::string& path, const std::string& name,
                                          const DataDescription& data, const std::string& array) {
  auto archive = std::make_unique<ZipFile>(path);
  auto bytes = archive->open(chosen_array(archive->arrays(), name, data, array) + ".npy");
  return std::make_unique<ArraySamples>(std::move(archive), std::move(bytes), path, name, data);
}

std::unique_ptr<SampleSource> hdf5_samples(const std::string& path, const std::string& name,
                                           const DataDescription& data, const std::string& array) {
  const std::string chosen = chosen_array(Hdf5File(path).datasets(), name, data, Hdf5File::plain_name(array));
  return std::make_unique<ArraySamples>(nullptr, hdf5_stream(path, chosen), path, name, data);
}

}  // namespace trainer
