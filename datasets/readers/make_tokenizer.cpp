#include <fmt/format.h>

#include "datasets/readers/tokenizers.h"
#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {

std::unique_ptr<Tokenizer> make_tokenizer(const std::string& kind, std::string_view definition,
                                          const std::string& path) {
  if (kind == "bytes") return byte_tokenizer();
  if (kind == "characters") return character_tokenizer(definition, path);
  if (kind == "bpe") return byte_pair_tokenizer(definition, path);
  if (kind == "gpt2") return gpt2_tokenizer(definition, path);
  if (kind == "sentencepiece") return sentencepiece_tokenizer(definition, path);
  throw Error(ExitCode::data,
              {Diagnostic{.what = fmt::format("unknown tokenizer {}", in_quotes(kind)),
                          .place = path,
                          .notes = {"bytes, characters, bpe, gpt2 and sentencepiece are known"}}});
}

}  // namespace trainer
