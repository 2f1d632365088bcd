// state.json of a checkpoint. Where the input is JSON at all, its checksum is made right: what lies behind
// that check is read too.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/system/crc32.h"
#include "models/checkpoints/checkpoint_state.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

std::string sealed(const std::string& text) {
  constexpr std::size_t kDeepest = 64;
  if (std::ranges::count(text, '[') + std::ranges::count(text, '{') > std::ptrdiff_t{kDeepest}) return text;
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return text;
  json.erase("crc32");
  const std::string content = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  json["crc32"] = crc32_of(std::as_bytes(std::span(content)));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const FuzzTarget target{"state", [](FuzzInput input) {
                          const CheckpointState state = parse_checkpoint_state(sealed(text_of(input)));
                          const std::string written = text_of(state);
                          expect(text_of(parse_checkpoint_state(written)) == written,
                                 "a state is another one when it has been written and read");
                        }};

}  // namespace
}  // namespace trainer
