#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "datasets/dataset.h"
#include "datasets/readers/byte_reader.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/tokens.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Bytes that one token of such a vocabulary takes in memory.
int width_of(int vocabulary) { return vocabulary <= 1 << 8 ? 1 : vocabulary <= 1 << 16 ? 2 : 4; }

/// The tokens of a text where the ranks of a host share them.
class Tokens {
 public:
  Tokens(std::span<const std::uint8_t> memory, int width) : memory_(memory), width_(width) {}

  /// Calls visit(i, token) for tokens [first, first + count).
  template <class Visit>
  void visit(std::int64_t first, std::int64_t count, Visit visit) const {
    const std::uint8_t* const begin = memory_.data() + first * width_;
    assert((first + count) * width_ <= std::ssize(memory_));
    if (width_ == 1) return visit_as<std::uint8_t>(begin, count, visit);
    if (width_ == 2) return visit_as<std::uint16_t>(begin, count, visit);
    return visit_as<std::uint32_t>(begin, count, visit);
  }

 private:
  template <class Number, class Visit>
  static void visit_as(const std::uint8_t* begin, std::int64_t count, Visit visit) {
    for (std::int64_t i = 0; i < count; ++i) {
      Number number;
      std::memcpy(&number, begin + static_cast<std::size_t>(i) * sizeof number, sizeof number);
      visit(i, number);
    }
  }

  std::span<const std::uint8_t> memory_;
  int width_;
};

/// Tokens of a line, all of them with a label behind them.
struct Line {
  std::int64_t first = 0;
  std::int32_t length = 0;
};

/// Pieces of a text, each with the tokens that come next as its labels.
class Windows : public Dataset {
 public:
  /// Tokens [first, last) of the text, in windows of `length` that begin `stride` apart; or lines of at most
  /// that length.
  struct Cut {
    std::int64_t first = 0, last = 0, length = 0, stride = 0;
    std::optional<std::span<const Line>> lines = {};
    /// A window's last label is the token behind it.
    std::int64_t windows() const {
      if (lines) return std::ssize(*lines);
      const std::int64_t rest = last - first - length - 1;
      return rest < 0 ? 0 : rest / stride + 1;
    }
  };
  Windows(const Cut& cut, int vocabulary, const std::optional<Tokens>& tokens)
      : cut_(cut), vocabulary_(vocabulary), tokens_(tokens) {}

  std::int64_t size() const override { return cut_.windows(); }
  Shape sample() const override { return {cut_.length}; }
  int classes() const override { return vocabulary_; }
  std::int64_t positions() const override { return cut_.length; }
  int vocabulary() const override { return vocabulary_; }
  bool has_lengths() const override { return cut_.lines.has_value(); }
  std::int64_t length(std::int64_t index) const override { return piece(index).length; }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    float* to = x.data();
    for (const std::int64_t index : indices) {
      const Line line = piece(index);
      tokens_->visit(line.first, line.length,
                     [to](std::int64_t i, auto token) { to[i] = static_cast<float>(token); });
      std::fill(to + line.length, to + cut_.length, 0.0f);
      to += cut_.length;
    }
  }
  std::int32_t label(std::int64_t) const override {
    throw std::logic_error("a window of a text has a label for each position");
  }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::int32_t* to = labels.data();
    for (const std::int64_t index : indices) {
      const Line line = piece(index);
      tokens_->visit(line.first + 1, line.length,
                     [to](std::int64_t i, auto token) { to[i] = static_cast<std::int32_t>(token); });
      std::fill(to + line.length, to + cut_.length, 0);
      to += cut_.length;
    }
  }

  std::unique_ptr<Dataset> stretch(double begin, double end, bool apart) const override {
    const auto place = [](double share, std::int64_t of) {
      return std::llround(share * static_cast<double>(of));
    };
    Cut part = cut_;
    if (cut_.lines) {
      const std::int64_t first = place(begin, size()), last = place(end, size());
      part.lines =
          cut_.lines->subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    } else {
      part.first = cut_.first + place(begin, cut_.last - cut_.first);
      part.last = cut_.first + place(end, cut_.last - cut_.first);
    }
    if (apart) part.stride = part.length;
    return std::make_unique<Windows>(part, vocabulary_, tokens_);
  }

 protected:
  const Cut& cut() const { return cut_; }

 private:
  Line piece(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::logic_error("a window that is not there");
    if (cut_.lines) return (*cut_.lines)[static_cast<std::size_t>(index)];
    return {cut_.first + index * cut_.stride, static_cast<std::int32_t>(cut_.length)};
  }

  Cut cut_;
  int vocabulary_;
  const std::optional<Tokens>& tokens_;  // known once the text is in memory
};

/// What a text's tokens come from: its bytes, read when they are wanted, or tokens made while opening it.
struct Source {
  std::unique_ptr<ByteReader> bytes;
  TokenizedText tokenized;
};

/// A whole text. Its memory is that of all windows cut from it.
class Text final : public Windows {
 public:
  /// `texts`: what each token stands for.
  Text(const Cut& cut, std::vector<std::string> texts, Source source, std::vector<Line> lines)
      : Windows(cut, static_cast<int>(texts.size()), memory_),
        texts_(std::move(texts)),
        source_(std::move(source)),
        lines_(std::move(lines)) {}

  std::vector<std::string> token_texts() const override { return texts_; }

  std::int64_t stored_bytes() const override { return cut().last * width_of(classes()); }
  void fill(std::span<std::uint8_t> memory) override {
    if (source_.bytes) {
      source_.bytes->read(memory);
      source_.bytes->finish();
      return;
    }
    switch (width_of(classes())) {
      case 1:
        return store<std::uint8_t>(memory);
      case 2:
        return store<std::uint16_t>(memory);
      default:
        return store<std::uint32_t>(memory);
    }
  }
  void attach(std::span<std::uint8_t> memory) override {
    source_ = {};
    memory_.emplace(memory, width_of(classes()));
  }

 private:
  template <class Number>
  void store(std::span<std::uint8_t> memory) const {
    std::uint8_t* to = memory.data();
    for (const std::uint32_t token : source_.tokenized.tokens) {
      const auto number = static_cast<Number>(token);
      std::memcpy(to, &number, sizeof number);
      to += sizeof number;
    }
  }

  std::optional<Tokens> memory_;
  std::vector<std::string> texts_;
  Source source_;
  std::vector<Line> lines_;  ///< what the cut sees, where samples are lines
};

std::string text_of(ByteReader& file) {
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  file.finish();
  return text;
}

std::vector<std::string> texts_of_bytes() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 1 << 8; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return texts;
}

/// Every byte is a token.
TokenizedText tokens_of_bytes(std::string_view text) {
  TokenizedText result{.tokens = {}, .vocabulary = 1 << 8, .texts = texts_of_bytes()};
  for (const char byte : text) result.tokens.push_back(static_cast<unsigned char>(byte));
  return result;
}

/// The lines of a text whose tokens are bytes or characters; what is longer than `most` tokens goes on as
/// further lines. A line's last label is the end of the line; the text's last token has none.
std::vector<Line> lines_of(std::string_view text, const TokenizedText& tokenized, std::int64_t most) {
  std::vector<Line> lines;
  const bool by_bytes = tokenized.tokens.size() == text.size();
  std::int64_t token = 0, first = 0;
  const auto add = [&](std::int64_t last) {
    for (std::int64_t length = 0; first < last; first += length) {
      length = std::min(most, last - first);
      lines.push_back({first, static_cast<std::int32_t>(length)});
    }
  };
  for (const char byte : text) {
    const bool resumes = !by_bytes && (static_cast<unsigned char>(byte) & 0xC0u) == 0x80;
    if (resumes) continue;
    if (byte == '\n') {
      add(token);
      first = token + 1;
    }
    ++token;
  }
  add(token - 1);
  return lines;
}

/// A file of text, cut into windows or lines.
class TextReader final : public Reader {
 public:
  TextReader(const Config& config, const ReaderContext& context)
      : file_(config.get<std::string>("file")),
        tokens_(config.get<std::string>("tokens")),
        length_(config.get<std::int64_t>("sequence")),
        stride_(config.has("stride") ? config.get<std::int64_t>("stride") : length_),
        by_lines_(config.get<bool>("lines")),
        merges_(config.has("merges") ? config.get<std::string>("merges") : ""),
        path_(context.path),
        files_("text", {file_}, context.path),
        direct_(context.path.empty() ? existing_file(file_) : "") {
    if (by_lines_ && tokens_ == "bpe")
      config.fail("lines", "lines want tokens that are bytes or characters",
                  "pieces of bpe may reach over the end of a line");
    if ((tokens_ == "bpe") != !merges_.empty())
      config.fail(merges_.empty() ? "tokens" : "merges", "`tokens: bpe` and `merges` go together",
                  "merges: the file that says which pairs of pieces become one");
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    looked_for.push_back(files_.looked_for());
    return direct_.empty() && files_.missing();
  }

  DataSource open() override {
    const std::string path = direct_.empty() ? files_.require(file_) : direct_;
    auto file = std::make_unique<ByteReader>(path);
    DataSource data{.name = "text", .fingerprint = {file->fingerprint()}};
    Source source;
    std::vector<std::string> texts;
    std::int64_t count = file->size();
    std::vector<Line> lines;
    if (tokens_ == "bytes" && !by_lines_) {
      source.bytes = std::move(file);
      texts = texts_of_bytes();
    } else {
      const std::string text = text_of(*file);
      source.tokenized = tokens_ == "bpe"     ? pieces_of(text, data)
                         : tokens_ == "bytes" ? tokens_of_bytes(text)
                                              : tokens_of_characters(text, path);
      texts = std::move(source.tokenized.texts);
      count = std::ssize(source.tokenized.tokens);
      if (by_lines_) lines = lines_of(text, source.tokenized, length_);
    }
    Windows::Cut cut{.first = 0, .last = count, .length = length_, .stride = stride_};
    if (by_lines_) cut.lines = lines;
    if (by_lines_ && lines.empty())
      throw Error(ExitCode::data,
                  {Diagnostic{.what = "the text has no line with a token in it", .place = path}});
    if (cut.windows() == 0)
      throw Error(ExitCode::data,
                  {Diagnostic{.what = "the text is shorter than a sequence",
                              .place = path,
                              .notes = {fmt::format("{} {}; `sequence: {}` wants one more than that", count,
                                                    tokens_, length_)}}});
    data.train = std::make_unique<Text>(cut, std::move(texts), std::move(source), std::move(lines));
    return data;
  }

 private:
  TokenizedText pieces_of(std::string_view text, DataSource& data) const {
    std::string path = path_.empty() ? existing_file(merges_) : "";
    if (path.empty()) path = KnownFiles("text", {merges_}, path_).require(merges_);
    ByteReader merges(path);
    data.fingerprint.push_back(merges.fingerprint());
    return tokens_of_byte_pairs(text, text_of(merges), path);
  }

  std::string file_, tokens_;
  std::int64_t length_, stride_;
  bool by_lines_;
  std::string merges_, path_;
  KnownFiles files_;
  std::string direct_;  ///< where `file` is a path that leads to it
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "text",
     .help = "a file of text, plain or .gz, cut into sequences whose labels are the tokens that come next",
     .settings = {text("file", "the file's name, or its path"),
                  choice("tokens", "what a token is", {"bytes", "characters", "bpe"}).fallback("bytes"),
                  text("merges",
                       "for bpe: file of the pairs of pieces that become one, as GPT-2's merges.txt")
                      .optional(),
                  integer("sequence", "tokens of a sample").at_least(1).at_most(1e6),
                  boolean(
                      "lines",
                      "each line is a sample, with padding up to `sequence` that nothing is learned from; "
                      "longer lines go on as further samples")
                      .fallback("false"),
                  integer("stride",
                          "tokens from the beginning of a training sample to that of the next; `sequence` "
                          "where it is not given")
                      .at_least(1)
                      .at_most(1e6)
                      .optional()}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<TextReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
