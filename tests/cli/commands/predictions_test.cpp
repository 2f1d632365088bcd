#include "cli/commands/predictions.h"

#include <catch2/catch.hpp>
#include <limits>

namespace trainer {
namespace {

const std::vector<std::string> kFiles{"a.png", "b, \"c\".png"};

/// Outputs of which the softmax is 0.25, 0.75 and 0.5, 0.5.
const std::vector<float> kScores{0, std::log(3.f), -2, -2};

std::string text_of(const std::vector<std::string>& classes, bool are_scores, PredictionFormat format) {
  return predictions_text({.files = kFiles, .outputs = kScores, .classes = classes, .are_scores = are_scores},
                          format);
}

}  // namespace

TEST_CASE("predictions as CSV have a header, and fields with commas or quotes are quoted", "[cli]") {
  CHECK(text_of({"cat", "dog, wolf"}, true, PredictionFormat::csv) ==
        "file,class,cat,\"dog, wolf\"\n"
        "a.png,\"dog, wolf\",0.25,0.75\n"
        "\"b, \"\"c\"\".png\",cat,0.5,0.5\n");
  CHECK(text_of({}, true, PredictionFormat::csv).starts_with("file,class,0,1\na.png,1,0.25,0.75\n"));
  CHECK(
      text_of({"of", "the", "samples"}, false, PredictionFormat::csv).starts_with("file,0,1\na.png,0,1.098"));
}

TEST_CASE("predictions as JSON are an object a line, and what is not finite is null", "[cli]") {
  CHECK(text_of({"cat", "dog"}, true, PredictionFormat::json) ==
        "{\"file\":\"a.png\",\"class\":1,\"name\":\"dog\",\"probabilities\":[0.25,0.75]}\n"
        "{\"file\":\"b, \\\"c\\\".png\",\"class\":0,\"name\":\"cat\",\"probabilities\":[0.5,0.5]}\n");
  const std::vector<std::string> file{"a"};
  CHECK(predictions_text(
            {.files = file, .outputs = {1.5f, std::numeric_limits<float>::infinity()}, .classes = {}},
            PredictionFormat::json) == "{\"file\":\"a\",\"outputs\":[1.5,null]}\n");
}

TEST_CASE("predictions as npy are a header of whole 64 bytes, then the values", "[cli]") {
  const std::string text = text_of({}, false, PredictionFormat::npy);
  REQUIRE(text.size() == 128 + 16);
  CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(text.substr(10, 59) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
  CHECK(text[127] == '\n');
  CHECK(text.substr(128) == std::string(reinterpret_cast<const char*>(kScores.data()), 16));
}

TEST_CASE("without a format the three likeliest classes are shown", "[cli]") {
  CHECK(text_of({"cat", "dog"}, true, PredictionFormat::best).starts_with("a.png"));
  CHECK(text_of({"cat", "dog"}, true, PredictionFormat::best).find("dog  75.0%  cat  25.0%") !=
        std::string::npos);
}

}  // namespace trainer
