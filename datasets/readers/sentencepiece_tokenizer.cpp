#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/tokenizer_source.h"
#include "datasets/readers/tokenizers.h"
#include "datasets/sentencepiece/sentencepiece_functions.h"
#include "engine/config/registry.h"
#include "engine/core/base64.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"
#include "engine/system/files.h"
#include "engine/system/module.h"

namespace trainer {
namespace {

/// Longer lines are cut, at the begin of a character: SentencePiece's work grows faster than a line.
constexpr std::size_t kLongestLine = 4096;

const SentencePieceFunctions& functions() {
#ifdef TRAINER_SENTENCEPIECE
  static const auto* const kFunctions = reinterpret_cast<decltype(&trainer_sentencepiece_functions)>(
      module_function("libtrainer-text.so", "trainer_sentencepiece_functions"))();
  return *kFunctions;
#else
  throw Error(ExitCode::usage, "this trainer was built without SentencePiece",
              "install libsentencepiece-dev and build again with -Dsentencepiece=enabled");
#endif
}

/// Runs `work`, whose errors concern this file.
template <class Work>
auto concerning(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    if (diagnostics.front().place.empty()) diagnostics.front().place = path;
    throw Error(error.code(), std::move(diagnostics));
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t line = std::min(text.find('\n'), text.size());
    std::size_t end = std::min(line, kLongestLine);
    while (end < line && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80) --end;
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(end == line ? std::min(end + 1, text.size()) : end);
  }
  return lines;
}

/// A model that is learned of the text, or a ready one.
class SentencePieces final : public TokenizerSource {
 public:
  explicit SentencePieces(const Config& config)
      : file_(config.has("file") ? config.get<std::string>("file") : ""),
        vocabulary_{.size = file_.empty() ? config.get<int>("vocabulary") : 0,
                    .unigram = config.get<std::string>("model") == "unigram"} {}

 private:
  bool learns() const override { return file_.empty(); }
  std::string learn(std::string_view text, const std::string& path) const override {
    return concerning(path, [&] {
      if (!is_utf8(text))
        throw Error(ExitCode::data, {Diagnostic{.what = "the text is not UTF-8", .place = path}});
      return base64(functions().train(lines_of(text), vocabulary_));
    });
  }
  std::unique_ptr<Tokenizer> of_text(const TrainingText& text,
                                     std::vector<std::string>& fingerprint) const override {
    if (!file_.empty()) return ready(text.data_path, fingerprint);
    const std::string model = text.learned.empty() ? learn(text.text, text.path) : text.learned;
    // Another release of SentencePiece may learn other pieces.
    fingerprint.push_back(
        fmt::format("sentencepiece model {:08x}",
                    crc32_z(0, reinterpret_cast<const Bytef*>(model.data()), model.size())));
    return sentencepiece_tokenizer(model, text.path);
  }

  std::unique_ptr<Tokenizer> ready(const std::string& data_path,
                                   std::vector<std::string>& fingerprint) const {
    constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 26;
    const std::filesystem::path inside = std::filesystem::path(data_path) / file_;
    std::error_code ignored;
    const std::string path = std::filesystem::exists(inside, ignored) ? inside.string() : file_;
    fingerprint.push_back(ByteReader(path).fingerprint());
    return sentencepiece_tokenizer(base64(read_file(path, ExitCode::data, kLargestFile)), path);
  }

  std::string file_;  ///< of a ready model; empty: it is learned
  SentencePieceFunctions::Vocabulary vocabulary_;
};

const Registry<TokenizerSource>::Add sentencepiece_tokenizer{
    {.name = "sentencepiece",
     .help = "pieces that SentencePiece learns of the text (Kudo and Richardson 2018)",
     .primary = "vocabulary",
     .settings = {integer("vocabulary", "number of tokens, of which 257 are bytes and the unknown")
                      .at_least(258)
                      .at_most(1 << 24)
                      .optional()
                      .exclusive_with("file"),
                  text("file", "a ready model instead, such as tokenizer.model of a Llama")
                      .optional()
                      .exclusive_with("vocabulary"),
                  choice("model", "byte-pair encoding, or a unigram language model", {"bpe", "unigram"})
                      .fallback("bpe")}},
    [](const Config& config) { return std::make_unique<SentencePieces>(config); }};

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(std::string_view model, const std::string& path) {
  return concerning(path, [&] {
    const auto bytes = bytes_of_base64(model);
    if (!bytes)
      throw Error(ExitCode::data, {Diagnostic{.what = "a model that is not base64", .place = path}});
    return functions().open(*bytes);
  });
}

std::optional<ScoredPieces> scored_pieces(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != "sentencepiece") return {};
  return functions().pieces(bytes_of_base64(tokenizer.definition()).value_or(""));
}

}  // namespace trainer
