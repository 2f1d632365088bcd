#include "datasets/inputs/text_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datasets/image_ending.h"
#include "datasets/inputs/table_rows.h"
#include "datasets/readers/csv_text.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

constexpr std::size_t kLongestRecord = 1 << 24;  // bytes

/// Reads a text record by record.
class Records : public SampleSource {
 public:
  explicit Records(InputText text) : text_(std::move(text)) {}

 protected:
  /// Bytes of the first record of `rest`, with its line end; npos if more is needed.
  virtual std::size_t size_of(std::string_view rest, bool is_all) = 0;
  /// Makes a sample of a record without its line end; false if it is none.
  virtual bool take(std::string_view record, std::int64_t line, RawSample& sample) = 0;
  const std::string& name() const { return text_.name(); }

 private:
  Next next(RawSample& sample, bool waits) final {
    while (!ended_) {
      std::size_t size = 0;
      sample = {.unit = RawSample::Unit::file, .file = name()};
      try {
        if (const Next found = find(size, waits); found == Next::later) return found;
      } catch (const Error& error) {
        sample.problem = problem_text(error);
      }
      if (size == 0) {
        ended_ = true;
        if (sample.problem.empty() && !any_) sample.problem = name() + ": it holds no sample";
        return sample.problem.empty() ? Next::end : Next::sample;
      }
      std::string record(text_.rest().substr(0, size));
      text_.take(size);
      const std::int64_t line = line_;
      line_ += lines_in(record);
      while (record.ends_with('\n') || record.ends_with('\r')) record.pop_back();
      sample = {.unit = RawSample::Unit::line, .file = name(), .place = line};
      try {
        if (!take(record, line, sample)) continue;
      } catch (const Error& error) {
        if (error.code() == ExitCode::usage) throw;
        sample.problem = problem_text(error);
      }
      any_ = true;
      return Next::sample;
    }
    return Next::end;
  }

  /// Finds the first record of the rest; `size` becomes 0 at the end. Error(data) if the file is damaged.
  Next find(std::size_t& size, bool waits) {
    while (!begun_) {
      const std::string_view rest = text_.rest();
      begun_ = text_.is_all() || !kByteOrderMark.starts_with(rest) || rest == kByteOrderMark;
      if (rest.starts_with(kByteOrderMark)) text_.take(kByteOrderMark.size());
      if (!begun_ && text_.fill(waits) == InputText::Fill::later) return Next::later;
    }
    while (true) {
      size = size_of(text_.rest(), text_.is_all());
      if (size != std::string_view::npos) return Next::sample;
      size = 0;
      if (text_.is_all() || text_.rest().size() > kLongestRecord) break;
      if (text_.fill(waits) == InputText::Fill::later) return Next::later;
    }
    if (text_.rest().empty()) return Next::end;
    // A quote that is not closed: only its line is lost.
    size = std::min(text_.rest().find('\n'), text_.rest().size() - 1) + 1;
    return Next::sample;
  }

  /// Line ends of a record: \n, \r or both.
  static std::int64_t lines_in(std::string_view record) {
    std::int64_t lines = 0;
    for (std::size_t i = 0; i < record.size(); ++i)
      if (record[i] == '\n' || (record[i] == '\r' && !record.substr(i + 1).starts_with('\n'))) ++lines;
    return lines;
  }

  InputText text_;
  std::int64_t line_ = 1;
  bool begun_ = false, any_ = false, ended_ = false;
};

/// Bytes up to the end of a line.
std::size_t line_size(std::string_view rest, bool is_all) {
  if (const std::size_t end = rest.find('\n'); end != std::string_view::npos) return end + 1;
  return is_all && !rest.empty() ? rest.size() : std::string_view::npos;
}

class Lines final : public Records {
 public:
  using Records::Records;

 private:
  std::size_t size_of(std::string_view rest, bool is_all) override { return line_size(rest, is_all); }
  bool take(std::string_view record, std::int64_t, RawSample& sample) override {
    sample.kind = RawSample::Kind::line;
    sample.bytes = record;
    return true;
  }
};

class Table final : public Records {
 public:
  Table(InputText text, const DataDescription& data, const std::string& id)
      : Records(std::move(text)), data_(data), rows_(data, id, name()), separator_(data.form.separator) {}

 private:
  std::size_t size_of(std::string_view rest, bool is_all) override {
    if (const std::size_t end = rest.find('\n'); !is_first_seen_ && end != std::string_view::npos) {
      is_first_seen_ = true;
      recognise_separator(rest.substr(0, end));
    }
    return record_size(rest, separator_, is_all);
  }
  /// Another separator than that of training if the first line has only that one.
  void recognise_separator(std::string_view line) {
    if (data_.info.sample.size() < 2 || line.find(separator_) != std::string_view::npos) return;
    for (const char separator : {',', ';', '\t'})
      if (line.find(separator) != std::string_view::npos) {
        separator_ = separator;
        return;
      }
  }
  bool take(std::string_view record, std::int64_t line, RawSample& sample) override {
    sample.kind = RawSample::Kind::values;
    sample.bytes.resize(static_cast<std::size_t>(data_.info.sample.size()) * sizeof(float));
    CsvText csv(name(), record, separator_, line);
    return rows_.read(csv.next(), line,
                      {reinterpret_cast<float*>(sample.bytes.data()), sample.bytes.size() / sizeof(float)},
                      sample.id);
  }

  const DataDescription& data_;
  TableRows rows_;
  char separator_;
  bool is_first_seen_ = false;
};

class NamedImages final : public Records {
 public:
  using Records::Records;

 private:
  std::size_t size_of(std::string_view rest, bool is_all) override { return line_size(rest, is_all); }
  bool take(std::string_view record, std::int64_t, RawSample& sample) override {
    if (record.empty()) return false;
    read_image(std::string(record), sample);
    return true;
  }
};

}  // namespace

std::string problem_text(const Error& error) {
  const Diagnostic& first = error.diagnostics().front();
  std::string text = first.place.empty() ? first.what : first.place + ": " + first.what;
  for (const std::string& note : first.notes) text += " (" + note + ")";
  return text;
}

void read_image(const std::string& path, RawSample& sample) {
  sample = {.kind = RawSample::Kind::image, .unit = RawSample::Unit::file, .file = path};
  try {
    sample.bytes = read_file(path, ExitCode::data, kLargestImageFile);
  } catch (const Error& error) {
    sample.problem = problem_text(error);
  }
}

std::unique_ptr<SampleSource> line_samples(InputText text) {
  return std::make_unique<Lines>(std::move(text));
}

std::unique_ptr<SampleSource> table_samples(InputText text, const DataDescription& data,
                                            const std::string& id) {
  return std::make_unique<Table>(std::move(text), data, id);
}

std::unique_ptr<SampleSource> named_images(InputText names) {
  return std::make_unique<NamedImages>(std::move(names));
}

}  // namespace trainer
