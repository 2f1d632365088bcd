#pragma once

#include <string>

namespace trainer {

/// A line of YAML with its comment, which begins in the same column for all short lines.
std::string commented(const std::string& line, const std::string& comment);

/// The `data:` section for a kind of `trainer new`, and what the other sections must know of the data.
struct DataSection {
  std::string yaml;
  bool has_numbers = false;  ///< targets are numbers; else classes
};

/// `shown`: a file, a folder or the name of a public dataset; empty: a public dataset, or one that needs no
/// file. Error(data) or Error(usage) if the kind does not learn such data, or they are damaged.
DataSection data_section(const std::string& kind, const std::string& shown);

}  // namespace trainer
