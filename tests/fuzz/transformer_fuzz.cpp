// A config.json of Hugging Face.
#include "models/huggingface/transformer_settings.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "transformer", [](FuzzInput input) {
      const TransformerSettings settings = parse_transformer_settings(text_of(input), "config.json");
      const TransformerSettings again = parse_transformer_settings(config_json(settings), "config.json");
      expect(differences(again, settings).empty(), "a config.json does not read back");
    }};

}  // namespace
}  // namespace trainer
