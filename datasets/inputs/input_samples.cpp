#include "datasets/inputs/input_samples.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "datasets/inputs/array_samples.h"
#include "datasets/inputs/memory_copy.h"
#include "datasets/inputs/text_samples.h"
#include "datasets/readers/hdf5_file.h"
#include "datasets/readers/image_file.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

enum class Format { image, npy, npz, hdf5, gzip, text };

constexpr std::size_t kMagicBytes = ImageDecoder::kMagicBytes;

Format format_of(std::string_view start) {
  if (ImageDecoder::is_image(start)) return Format::image;
  if (start.starts_with("\x93NUMPY")) return Format::npy;
  if (start.starts_with("PK\x03\x04")) return Format::npz;
  if (Hdf5File::starts(start)) return Format::hdf5;
  return start.starts_with("\x1F\x8B") ? Format::gzip : Format::text;
}

bool takes_images(const DatasetInfo& info) {
  return info.vocabulary == 0 && info.sample.rank() == 3 && (info.sample[2] == 1 || info.sample[2] == 3);
}

/// One sample, or one that is damaged.
class OneSample final : public SampleSource {
 public:
  explicit OneSample(RawSample sample) : sample_(std::move(sample)) {}
  Next next(RawSample& sample, bool) override {
    if (!sample_) return Next::end;
    sample = std::move(*sample_);
    sample_.reset();
    return Next::sample;
  }

 private:
  std::optional<RawSample> sample_;
};

/// The images of a folder and of those in it, sorted by path, without hidden ones.
class FolderImages final : public SampleSource {
 public:
  explicit FolderImages(const std::string& folder) : folder_(folder) {
    std::error_code problem;
    for (fs::recursive_directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      std::error_code gone;
      const fs::path& path = entry->path();
      if (path.filename().string().starts_with('.')) {
        if (entry->is_directory(gone)) entry.disable_recursion_pending();
      } else if (ImageDecoder::has_image_name(path.string()) && entry->is_regular_file(gone)) {
        files_.push_back(path.string());
      }
    }
    std::ranges::sort(files_);
    if (problem) problem_ = folder + ": " + problem.message();
    if (files_.empty() && problem_.empty())
      problem_ = fmt::format("{}: no {} is in it", folder, ImageDecoder::kNames);
  }
  Next next(RawSample& sample, bool) override {
    if (next_ < files_.size()) {
      read_image(files_[next_++], sample);
      return Next::sample;
    }
    if (problem_.empty()) return Next::end;
    sample = {.file = folder_, .problem = std::exchange(problem_, "")};
    return Next::sample;
  }

 private:
  std::string folder_, problem_;
  std::vector<std::string> files_;
  std::size_t next_ = 0;
};

/// All inputs, one after the other.
class InputSamples final : public SampleSource {
 public:
  InputSamples(std::vector<std::string> names, const DataDescription& data, InputChoice choice)
      : names_(std::move(names)), data_(data), choice_(std::move(choice)) {}

  Next next(RawSample& sample, bool waits) override {
    while (true) {
      if (!current_) {
        if (next_ == names_.size()) return Next::end;
        if (!waits && names_[next_] == "-") return Next::later;
        current_ = open(names_[next_]);
        ++next_;
      }
      const Next found = current_->next(sample, waits);
      if (found != Next::end) return found;
      current_.reset();
      stream_.reset();
      copy_.reset();
    }
  }

 private:
  std::unique_ptr<SampleSource> open(const std::string& name) {
    std::error_code ignored;
    try {
      if (name == "-") return open_stream(InputText(STDIN_FILENO, name));
      if (fs::is_directory(name, ignored)) return open_folder(name);
      if (!fs::exists(name, ignored) || fs::is_regular_file(name, ignored)) return open_file(name, name);
      stream_.emplace(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      if (stream_->number() < 0) return damaged(name, name + ": " + std::generic_category().message(errno));
      return open_stream(InputText(stream_->number(), name));
    } catch (const Error& error) {
      if (error.code() == ExitCode::usage) throw;
      return damaged(name, problem_text(error));
    }
  }

  static std::unique_ptr<SampleSource> damaged(const std::string& name, const std::string& problem) {
    return std::make_unique<OneSample>(RawSample{.file = name, .problem = problem});
  }

  std::unique_ptr<SampleSource> open_folder(const std::string& name) const {
    if (!takes_images(data_.info)) return damaged(name, name + ": a folder, and the model takes no images");
    return std::make_unique<FolderImages>(name);
  }

  /// `name` stands for `path` in messages.
  std::unique_ptr<SampleSource> open_file(const std::string& path, const std::string& name) const {
    const InputFile file(path, ExitCode::data);
    std::string start(std::min<std::uint64_t>(kMagicBytes, file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(start)));
    Format format = format_of(start);
    if (format == Format::gzip) {
      InputText text(path);
      text.fill(true);
      format = format_of(text.rest());
    }
    switch (format) {
      case Format::npy:
        return npy_samples(path, name, data_);
      case Format::npz:
        return npz_samples(path, name, data_, choice_.array);
      case Format::hdf5:
        return hdf5_samples(path, name, data_, choice_.array);
      case Format::image:
        return open_image(path, name);
      default:
        if (takes_images(data_.info))
          return damaged(name, name + ": neither PNG, JPEG nor WebP, nor an array");
        return open_text(InputText(path));
    }
  }

  std::unique_ptr<SampleSource> open_image(const std::string& path, const std::string& name) const {
    if (!takes_images(data_.info)) return damaged(name, name + ": an image, and the model takes none");
    RawSample sample;
    read_image(path, sample);
    sample.file = name;
    return std::make_unique<OneSample>(std::move(sample));
  }

  std::unique_ptr<SampleSource> open_stream(InputText text) {
    while (text.rest().size() < kMagicBytes) {
      // A line that is complete is text, however short; but the size in a WebP's header may look like a line
      // end.
      const std::string_view start = text.rest();
      if (start.find('\n') != start.npos && format_of(start) == Format::text && !start.starts_with("RIFF"))
        break;
      if (text.fill(true) != InputText::Fill::more) break;
    }
    if (format_of(text.rest()) == Format::text) return open_text(std::move(text));
    copy_.emplace(text);
    return open_file(copy_->path(), text.name());
  }

  std::unique_ptr<SampleSource> open_text(InputText text) const {
    if (data_.info.vocabulary > 0) return line_samples(std::move(text));
    if (takes_images(data_.info)) return named_images(std::move(text));
    return table_samples(std::move(text), data_, choice_.id);
  }

  std::vector<std::string> names_;
  const DataDescription& data_;
  InputChoice choice_;
  std::size_t next_ = 0;
  std::unique_ptr<SampleSource> current_;
  std::optional<Descriptor> stream_;  ///< of the current input, if it is a pipe
  std::optional<MemoryCopy> copy_;
};

}  // namespace

bool takes_tables(const DataDescription& data) {
  return data.info.vocabulary == 0 && !takes_images(data.info);
}

std::unique_ptr<SampleSource> input_samples(std::vector<std::string> names, const DataDescription& data,
                                            InputChoice choice) {
  return std::make_unique<InputSamples>(std::move(names), data, std::move(choice));
}

}  // namespace trainer
