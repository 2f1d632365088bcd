#include "datasets/dataset_info.h"

#include "datasets/loading/input_targets.h"
#include "datasets/subset.h"
#include "datasets/transforms/normalised.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

/// A dataset with every part of its info set.
class Named final : public Dataset {
 public:
  explicit Named(const Tokenizer& tokenizer)
      : Dataset({.size = 4,
                 .sample = {2},
                 .classes = 3,
                 .class_names = {"ant", "bee", "cow"},
                 .target = {5},
                 .positions = 2,
                 .vocabulary = tokenizer.vocabulary(),
                 .tokenizer = &tokenizer,
                 .has_lengths = true,
                 .is_streamed = true}) {}
  void read(std::span<const std::int64_t>, Tensor) const override {}
};

class Letters final : public Tokenizer {
 public:
  std::string kind() const override { return "letters"; }
  std::string definition() const override { return "ab"; }
  int vocabulary() const override { return 2; }
  std::vector<Token> encode(std::string_view text) const override { return {text.begin(), text.end()}; }
  std::string_view bytes_of(Token token) const override { return token == 0 ? "a" : "b"; }
};

}  // namespace

TEST_CASE("class names and token texts survive every decorator", "[data]") {
  const Letters letters;
  const Named named(letters);
  const Subset subset(named, {3, 1});
  const Normalised normalised(std::make_unique<Named>(letters));
  const InputTargets own(std::make_unique<Normalised>(std::make_unique<Named>(letters)));
  for (const Dataset* dataset : std::initializer_list<const Dataset*>{&subset, &normalised, &own}) {
    const DatasetInfo& info = dataset->info();
    CHECK(info.class_names == named.info().class_names);
    REQUIRE(info.tokenizer != nullptr);
    CHECK(info.tokenizer->decode(std::vector<Token>{1, 0}) == "ba");
    CHECK(info.vocabulary == 2);
    CHECK(info.sample == Shape{2});
    CHECK(info.has_lengths);
    CHECK(info.is_streamed);
  }
  CHECK(subset.size() == 2);
  CHECK(subset.positions() == 2);
  CHECK(normalised.size() == 4);
  CHECK(normalised.classes() == 3);
  CHECK(own.classes() == 0);
  CHECK(own.target() == Shape{2});
}

TEST_CASE("the splits of a text keep its tokenizer, those of a table its class names", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("abcabcabcabcabcabcabc"));
  const Data text =
      opened("dataset: {text: {file: a.txt, sequence: 2, tokens: characters}}\nvalidation: 0.4\npath: " +
             directory.path());
  REQUIRE(text.validation->info().tokenizer != nullptr);
  CHECK(text.validation->info().tokenizer->decode(std::vector<Token>{2, 0}) == "ca");
  directory.write("a.csv", bytes_of("x,y\n1,bee\n2,ant\n3,bee\n4,ant\n"));
  const Data table =
      opened("dataset: {csv: {train: a.csv, target: y}}\nvalidation: 0.5\nnormalize: per_channel\npath: " +
             directory.path());
  CHECK(table.validation->info().class_names == std::vector<std::string>{"ant", "bee"});
}

}  // namespace trainer
