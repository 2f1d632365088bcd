#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "datasets/sentencepiece/sentencepiece_functions.h"
#include "engine/core/base64.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

constexpr const char* kNoModel = "not a model of SentencePiece";

[[noreturn]] void fail(const sentencepiece::util::Status& status, const char* what) {
  std::string reason = status.error_message();
  // "trainer_interface.cc(611) [condition] reason"
  if (const std::size_t end = reason.find("] "); end != std::string::npos) reason.erase(0, end + 2);
  Diagnostic problem{.what = what};
  if (!reason.empty()) problem.notes.push_back(reason);
  throw Error(ExitCode::data, {problem});
}

class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string_view>& lines) : lines_(lines) { read(); }
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override {
    ++next_;
    read();
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void read() {
    if (!done()) line_ = lines_[next_];
  }

  const std::vector<std::string_view>& lines_;
  std::size_t next_ = 0;
  std::string line_;
};

std::string train(const std::vector<std::string_view>& lines,
                  const SentencePieceFunctions::Vocabulary& vocabulary) {
  // Nothing of the text is lost: no normalization, and bytes for characters that are not in the vocabulary.
  // The threads share out the work by their number, so it does not follow the machine.
  const std::unordered_map<std::string, std::string> settings{
      {"vocab_size", std::to_string(vocabulary.size)},
      {"model_type", vocabulary.unigram ? "unigram" : "bpe"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"byte_fallback", "true"},
      {"unk_id", "0"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"pad_id", "-1"},
      {"max_sentence_length", "1000000"},
      {"num_threads", "4"},
      {"minloglevel", "3"}};
  Lines sentences(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &sentences, &model);
  if (!status.ok()) fail(status, "SentencePiece cannot make the vocabulary of this text");
  return model;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const std::string& model) : definition_(base64(model)) {
    load(model);
    adds_space_ = processor_.IdToPiece(first_token("a")).starts_with(kSpace);
    // Protocol Buffers merges messages one behind the other: normalizer_spec {add_dummy_prefix: false}. The
    // space belongs to the text, not to each of its lines.
    if (adds_space_) load(model + std::string("\x1a\x02\x18\x00", 4));
    for (int id = 0; id < processor_.GetPieceSize(); ++id) texts_.push_back(text_of(id));
    newline_ = processor_.PieceToId("<0x0A>");
    // A text without spaces makes a model without a piece for them.
    if (processor_.PieceToId(kSpace) != processor_.unk_id()) require_all_of_texts();
  }

  std::string kind() const override { return "sentencepiece"; }
  std::string definition() const override { return definition_; }
  int vocabulary() const override { return static_cast<int>(texts_.size()); }
  /// By lines, as SentencePiece's tools encode them. It would replace bytes that are not UTF-8.
  std::vector<Token> encode(std::string_view text) const override {
    if (!is_utf8(text)) throw Error(ExitCode::usage, "the text is not UTF-8", "iconv -t UTF-8 converts it");
    std::vector<Token> tokens;
    std::vector<int> ids;
    for (bool is_first = true; !text.empty(); is_first = false) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string line = (is_first && adds_space_ ? " " : "") + std::string(text.substr(0, end));
      const auto status = processor_.Encode(line, &ids);
      if (!status.ok()) fail(status, "a text that SentencePiece cannot encode");
      for (const int id : ids) tokens.push_back(static_cast<Token>(id));
      if (end < text.size()) tokens.push_back(static_cast<Token>(newline_));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return tokens;
  }
  std::string_view bytes_of(Token token) const override { return texts_.at(token); }

 private:
  static constexpr std::string_view kSpace = "\u2581";

  void load(const std::string& model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    if (!status.ok()) fail(status, kNoModel);
  }
  int first_token(const char* text) const {
    std::vector<int> ids;
    const auto status = processor_.Encode(text, &ids);
    if (!status.ok() || ids.empty()) fail(status, "a text that SentencePiece cannot encode");
    return ids.front();
  }
  /// Models of others may normalize texts, or lack characters.
  void require_all_of_texts() const {
    const std::string text = "a  B \u00bd\ufb01\u6f22\t\n\nb ";
    if (decode(encode(text)) != (adds_space_ ? " " : "") + text)
      throw Error(ExitCode::data,
                  {Diagnostic{.what = "a model of SentencePiece that loses parts of texts",
                              .help = "one with byte_fallback and without normalization, as Llama's"}});
  }
  std::string text_of(int id) const {
    std::string piece = processor_.IdToPiece(id);
    if (processor_.IsByte(id)) {  // "<0x0A>"
      unsigned byte = 0;
      std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
      return std::string(1, static_cast<char>(byte));
    }
    if (processor_.IsUnknown(id)) return "\uFFFD";
    for (std::size_t at = 0; (at = piece.find(kSpace, at)) != std::string::npos; ++at)
      piece.replace(at, kSpace.size(), " ");
    return piece;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string definition_;
  std::vector<std::string> texts_;
  int newline_ = 0;
  bool adds_space_ = false;  ///< in front of each text
};

ScoredPieces pieces_of(const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  if (const auto status = processor.LoadFromSerializedProto(model); !status.ok()) fail(status, kNoModel);
  using Type = ScoredPieces::Type;
  ScoredPieces result;
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    result.pieces.push_back({processor.IdToPiece(id), processor.GetScore(id),
                             processor.IsUnknown(id)   ? Type::unknown
                             : processor.IsControl(id) ? Type::control
                             : processor.IsUnused(id)  ? Type::unused
                             : processor.IsByte(id)    ? Type::byte
                                                       : Type::normal});
  const auto token = [](int id) { return id < 0 ? std::nullopt : std::optional(static_cast<Token>(id)); };
  result.unknown = static_cast<Token>(processor.unk_id());
  result.begin = token(processor.bos_id());
  result.end = token(processor.eos_id());
  result.padding = token(processor.pad_id());
  std::vector<int> ids;
  result.adds_space = processor.Encode("a", &ids).ok() && !ids.empty() &&
                      processor.IdToPiece(ids.front()).starts_with("\u2581");
  // Unigram models have several encodings, words and characters no restricted vocabulary.
  std::vector<std::vector<int>> encodings;
  result.is_byte_pair = !processor.NBestEncode("a", 1, &encodings).ok() && processor.SetVocabulary({}).ok();
  if (!result.is_byte_pair) return result;
  // An empty vocabulary leaves user-defined pieces alone in use, and single characters.
  for (std::size_t id = 0; id < result.pieces.size(); ++id) {
    auto& [text, score, type] = result.pieces[id];
    std::size_t end = 0;
    next_character(text, end);
    if (type == Type::normal && end < text.size() && !processor.IsUnused(static_cast<int>(id)))
      type = Type::user_defined;
  }
  return result;
}

/// Runs `work`, in which SentencePiece makes a trie of the pieces.
template <class Work>
auto with_trie(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::data, {Diagnostic{.what = kNoModel, .notes = {error.what()}}});
  }
}

std::unique_ptr<Tokenizer> open(const std::string& model) {
  return with_trie([&] { return std::make_unique<SentencePieceTokenizer>(model); });
}

ScoredPieces pieces(const std::string& model) {
  return with_trie([&] { return pieces_of(model); });
}

constexpr SentencePieceFunctions kFunctions{train, open, pieces};

}  // namespace
}  // namespace trainer

extern "C" const trainer::SentencePieceFunctions* trainer_sentencepiece_functions() {
  return &trainer::kFunctions;
}
