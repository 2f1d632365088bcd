#pragma once

#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

/// A network that trains in no time on the 40 images of "set".
inline const std::string kSmallRun = R"(data: {dataset: mnist, path: set}
model:
  layers:
    - dense: {units: 8, activation: relu}
    - dense: 10
  loss: softmax_cross_entropy
train:
  epochs: 1
  batch: 8
  optimizer: {sgd: {lr: 0.1}}
  metrics: [accuracy]
)";

/// A folder to run in: "a.yaml" with kSmallRun, and in "set" an MNIST of 40 + 20 images.
class SmallRun {
 public:
  SmallRun();

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  /// Runs the trainer here with these words, as so many processes where above 1.
  ProgramResult trainer(std::vector<std::string> words, int ranks = 1, double seconds = 60) const;
  /// The same for a line of sh, in which $TRAINER is the program and `ranks 3` gives the process of rank 3,
  /// `ranks [01]` those of two.
  ProgramResult shell(const std::string& line, double seconds = 60) const;

 private:
  ProgramOptions options(double seconds) const;

  TemporaryFolder folder_;
};

/// The tests' view of TRAINER and the like, which Meson sets.
std::string setting_of_tests(const char* variable);

/// Whether the program was built with this sanitizer: "address", "thread", "undefined".
bool is_built_with(const std::string& sanitizer);

/// How often `word` occurs in `text`.
int occurrences(const std::string& text, const std::string& word);

/// The number behind the first `before`; -1 if there is none.
double number_after(const std::string& text, const std::string& before);

/// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace trainer
