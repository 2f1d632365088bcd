#include "datasets/readers/tokenizer_source.h"

#include <filesystem>

#include "datasets/readers/known_files.h"
#include "datasets/readers/text_file.h"
#include "datasets/readers/tokenizers.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

class Bytes final : public TokenizerSource {
  std::unique_ptr<Tokenizer> of_text(const TrainingText&, std::vector<std::string>&) const override {
    return byte_tokenizer();
  }
};

class Characters final : public TokenizerSource {
  std::unique_ptr<Tokenizer> of_text(const TrainingText& text, std::vector<std::string>&) const override {
    return character_tokenizer(text.text, text.path);
  }
};

class BytePairs final : public TokenizerSource {
  std::unique_ptr<Tokenizer> of_text(const TrainingText& text,
                                     std::vector<std::string>& fingerprint) const override {
    std::string path = path_of_file("text", text.merges, text.data_path);
    if (const std::string existing = existing_file(path); !existing.empty()) path = existing;
    ByteReader merges(path);
    fingerprint.push_back(merges.fingerprint());
    return byte_pair_tokenizer(content_of(merges), path);
  }
};

class Gpt2 final : public TokenizerSource {
 public:
  explicit Gpt2(const Config& config) : folder_(config.get<std::string>("folder")) {}

 private:
  std::unique_ptr<Tokenizer> of_text(const TrainingText& text,
                                     std::vector<std::string>& fingerprint) const override {
    const std::filesystem::path inside = std::filesystem::path(text.data_path) / folder_;
    std::error_code ignored;
    std::vector<std::string> files;
    auto tokenizer = read_gpt2_tokenizer(
        std::filesystem::is_directory(inside, ignored) ? inside.string() : folder_, files);
    for (const std::string& file : files) fingerprint.push_back(ByteReader(file).fingerprint());
    return tokenizer;
  }

  std::string folder_;
};

using Sources = Registry<TokenizerSource>;

const Sources::Add bytes{{.name = "bytes", .help = "the 256 bytes"},
                         [](const Config&) { return std::make_unique<Bytes>(); }};
const Sources::Add characters{{.name = "characters", .help = "the characters of the text"},
                              [](const Config&) { return std::make_unique<Characters>(); }};
const Sources::Add bpe{{.name = "bpe", .help = "byte pair encoding with a file of `merges`"},
                       [](const Config&) { return std::make_unique<BytePairs>(); }};
const Sources::Add gpt2{
    {.name = "gpt2",
     .help = "byte-level BPE as Hugging Face stores it for GPT-2",
     .primary = "folder",
     .settings = {text("folder", "a folder with tokenizer.json, or with vocab.json and merges.txt")}},
    [](const Config& config) { return std::make_unique<Gpt2>(config); }};

}  // namespace
}  // namespace trainer
