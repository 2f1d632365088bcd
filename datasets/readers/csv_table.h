#pragma once

#include <string>
#include <vector>

namespace trainer {

/// How a CSV file is written and what of it is wanted.
struct CsvForm {
  char separator = ',';
  int header = 1;                    ///< lines above the samples, of which the last one may name the columns
  std::vector<std::string> targets;  ///< columns by name, or by number from 1
  std::vector<std::string> ignore;   ///< columns left out, by name or number
};

/// A CSV file, read whole: a row of numbers a line, and the targets as they are written. Strict: what is no
/// number or has another number of fields is an Error(data) with the line.
struct CsvTable {
  std::string path, fingerprint;
  std::int64_t columns = 0;  ///< without targets and what is ignored
  std::vector<float> numbers;
  std::vector<std::string> targets;  ///< of a sample in the order of CsvForm::targets
  std::vector<std::int64_t> lines;   ///< where each sample stands, counted from 1

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
  [[noreturn]] void fail(std::int64_t row, const std::string& what, const std::string& expected) const;
};

CsvTable read_csv(const std::string& path, const CsvForm& form);

/// The whole of a text as a finite number; false when it is none.
bool parse_number(std::string_view text, double& number);

}  // namespace trainer
