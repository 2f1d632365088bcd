#include <fmt/format.h>

#include <algorithm>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/csv_text.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/text_file.h"
#include "datasets/readers/text_windows.h"
#include "datasets/readers/tokenizer_source.h"
#include "datasets/readers/tokenizers.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// What fills the memory of a text: the file's bytes, read later, if they are the tokens; else tokens made
/// while opening.
struct TokenSource {
  std::unique_ptr<ByteReader> bytes;
  std::vector<Token> tokens;
};

/// A whole text. Windows that are cut from it share its memory.
class Text final : public TextWindows {
 public:
  Text(const Cut& cut, std::unique_ptr<Tokenizer> tokenizer, TokenSource source,
       std::vector<TokenRange> lines)
      : TextWindows(cut, *tokenizer, memory_),
        tokenizer_(std::move(tokenizer)),
        source_(std::move(source)),
        lines_(std::move(lines)) {}

  std::int64_t stored_bytes() const override { return cut().last * width(); }
  void fill(std::span<std::uint8_t> memory) override {
    if (source_.bytes) {
      source_.bytes->read(memory);
      source_.bytes->finish();
      return;
    }
    switch (width()) {
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
    memory_.emplace(memory, width());
  }

 private:
  int width() const { return token_width(info().vocabulary); }

  template <class Stored>
  void store(std::span<std::uint8_t> memory) const {
    std::uint8_t* to = memory.data();
    for (const Token token : source_.tokens) {
      const auto stored = static_cast<Stored>(token);
      std::memcpy(to, &stored, sizeof stored);
      to += sizeof stored;
    }
  }

  std::optional<StoredTokens> memory_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TokenSource source_;
  std::vector<TokenRange> lines_;  ///< that the cut refers to
};

/// The tokens of the text in `path`, or of its line of that number. Error(data) with the place if the
/// vocabulary lacks a part of it.
std::vector<Token> encode_file(const std::string& path, int line, std::string_view text,
                               const Tokenizer& tokenizer) {
  try {
    return tokenizer.encode(text);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    Diagnostic found = error.diagnostics().front();
    found.place = line > 0 ? fmt::format("{}:{}", path, line) : path;
    throw Error(ExitCode::data, {found});
  }
}

/// The lines of the text in `path`, whose tokens are appended to `tokens`. Each line is encoded by itself
/// with its end, so that no token reaches beyond it, and the label of its last token is the end. A longer
/// line is split into samples of `most` tokens.
std::vector<TokenRange> encode_lines(const std::string& path, std::string_view text,
                                     const Tokenizer& tokenizer, std::int64_t most,
                                     std::vector<Token>& tokens) {
  std::vector<TokenRange> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    const std::vector<Token> encoded = encode_file(path, number, line, tokenizer);
    auto first = std::ssize(tokens);
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    const std::int64_t last = std::ssize(tokens) - 1;  // a label alone
    for (std::int64_t length = 0; first < last; first += length) {
      length = std::min(most, last - first);
      lines.push_back({first, static_cast<std::int32_t>(length)});
    }
  }
  return lines;
}

/// The content without the byte order mark that some editors write in front.
std::string characters_of(ByteReader& file) {
  std::string text = content_of(file);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

/// A text file, cut into windows or lines.
class TextReader final : public Reader {
 public:
  TextReader(const Config& config, const ReaderContext& context)
      : tokens_(config.at("tokens").type()),
        source_(Registry<TokenizerSource>::make(config.at("tokens"))),
        length_(config.get<std::int64_t>("sequence")),
        stride_(config.has("stride") ? config.get<std::int64_t>("stride") : length_),
        by_lines_(config.get<bool>("lines")),
        packs_(config.get<bool>("pack")),
        merges_(config.has("merges") ? config.get<std::string>("merges") : ""),
        path_(context.path),
        learned_(context.learned),
        file_(path_of_file("text", config.get<std::string>("file"), context.path)) {
    if (packs_ && !by_lines_)
      config.fail("pack", "lines are packed, and the text is cut into windows, which are full",
                  "lines: true");
    if ((tokens_ == "bpe") != !merges_.empty())
      config.fail(merges_.empty() ? "tokens" : "merges", "`tokens: bpe` and `merges` go together",
                  "merges: a file of merges, such as GPT-2's merges.txt");
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    looked_for.push_back(file_ + "[.gz]");
    return existing_file(file_).empty();
  }

  DataSource open() override {
    DataSource data{.name = "text", .form = {.has_pixels = false}};
    data.train = open_text(existing_file(file_), nullptr, data);
    return data;
  }

  std::string learn() override {
    if (!source_->learns()) return "";
    const std::string path = existing_file(file_);
    ByteReader file(path);
    return source_->learn(characters_of(file), path);
  }

  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"TEXT"});
    const Tokenizer& trained = *given.trained.tokenizer;
    DataSource ignored;
    return open_text(given.files.front(),
                     make_tokenizer(trained.kind(), trained.definition(), "the tokenizer of training"),
                     ignored);
  }

 private:
  /// `tokenizer`: null for that of the text itself. Adds its files to the fingerprint.
  std::unique_ptr<Dataset> open_text(const std::string& path, std::unique_ptr<Tokenizer> tokenizer,
                                     DataSource& data) const {
    auto file = std::make_unique<ByteReader>(path);
    data.fingerprint.push_back(file->fingerprint());
    TokenSource source;
    std::int64_t count = file->size();
    std::vector<TokenRange> lines;
    if (tokens_ == "bytes" && !by_lines_) {
      check_unpacked_size(*file);
      source.bytes = std::move(file);
      tokenizer = byte_tokenizer();
    } else {
      const std::string text = characters_of(*file);
      if (!tokenizer)
        tokenizer = source_->of_text(
            {.text = text, .path = path, .merges = merges_, .data_path = path_, .learned = learned_},
            data.fingerprint);
      if (by_lines_)
        lines = encode_lines(path, text, *tokenizer, length_, source.tokens);
      else
        source.tokens = encode_file(path, 0, text, *tokenizer);
      count = std::ssize(source.tokens);
    }
    TextWindows::Cut cut{.first = 0, .last = count, .length = length_, .stride = stride_};
    if (by_lines_) {
      cut.lines = lines;
      cut.packs_lines = packs_;
    }
    if (by_lines_ && lines.empty())
      throw Error(ExitCode::data,
                  {Diagnostic{.what = "the text has no line with a token in it", .place = path}});
    if (!by_lines_ && cut.windows() == 0)
      throw Error(
          ExitCode::data,
          {Diagnostic{.what = "the text is shorter than a sequence",
                      .place = path,
                      .notes = {fmt::format("it has {} {}; `sequence: {}` requires {}", count,
                                            by_letters() ? tokens_ : "tokens", length_, length_ + 1)}}});
    return std::make_unique<Text>(cut, std::move(tokenizer), std::move(source), std::move(lines));
  }
  bool by_letters() const { return tokens_ == "bytes" || tokens_ == "characters"; }

  std::string tokens_;
  std::unique_ptr<TokenizerSource> source_;
  std::int64_t length_, stride_;
  bool by_lines_, packs_;
  std::string merges_, path_, learned_, file_;
};

const Registry<Reader, const ReaderContext&>::Add text_reader{
    {.name = "text",
     .help = "a text file, plain or .gz, cut into sequences; the label of each token is the next one",
     .settings =
         {text("file", "name or path of the file"),
          family("tokens", "what a token is", "tokenizer").fallback("bytes"),
          text("merges", "for bpe: a file of merges, such as GPT-2's merges.txt").optional(),
          integer("sequence", "tokens of a sample").at_least(1).at_most(1e6),
          boolean("lines",
                  "each line is a sample, padded to `sequence`; padding has no loss; longer lines are split "
                  "into several samples")
              .fallback("false"),
          boolean("pack",
                  "several lines share a sample of `sequence` tokens; attention and losses keep them apart")
              .fallback("false"),
          integer("stride",
                  "tokens from the start of a training sample to the start of the next; default: `sequence`")
              .at_least(1)
              .at_most(1e6)
              .optional()}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<TextReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
