#pragma once

#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// `path` if it exists, else `path`.gz if that exists, else empty.
std::string existing_file(const std::string& path);

/// The files that names mean: those that match a pattern (`*`, `?`, `[...]`), sorted; a name without one is a
/// file, or its .gz. Names without a file stay as they are.
std::vector<std::string> matching_files(const std::vector<std::string>& names);

/// The directory of files that a config names, of which `file` is the first: without data.path the working
/// directory (empty) if that has it, else as KnownFiles does. data.path if none has it.
std::string directory_of(const std::string& set, const std::string& file, const std::string& data_path);
/// The path of one such file.
std::string path_of_file(const std::string& set, const std::string& file, const std::string& data_path);

/// The files of a public dataset. They are looked for in DIR and DIR/NAME, where DIR is data.path, or without
/// it $TRAINER_DATA, ~/.cache/trainer and ./datasets. The first directory with one of the files must hold all
/// of them.
class KnownFiles {
 public:
  /// own_folder: for datasets that share file names with others. DIR/NAME comes first; DIR itself counts only
  /// if it is data.path.
  enum class Where { either, own_folder };
  KnownFiles(std::string set, std::vector<std::string> files, const std::string& data_path,
             Where where = Where::either);

  /// True if no directory holds a file of the dataset.
  bool missing() const { return directory_.empty(); }
  /// Empty if missing().
  const std::string& directory() const { return directory_; }
  /// "train-images-idx3-ubyte[.gz] in data or data/mnist"
  std::string looked_for() const;
  /// The path of one file, plain or .gz; empty if it is missing.
  std::string find(const std::string& file) const;
  /// The same; Error(data) if it is missing.
  std::string require(const std::string& file) const;

 private:
  std::string set_;
  std::vector<std::string> files_, directories_;
  std::string directory_;
};

/// A reader of a public dataset.
class KnownSet : public Reader {
 public:
  bool missing(std::vector<std::string>& looked_for) const final {
    looked_for.push_back(files_.looked_for());
    return files_.missing();
  }
  std::string source() const final { return source_; }

 protected:
  KnownSet(KnownFiles files, std::string source) : files_(std::move(files)), source_(std::move(source)) {}

  const KnownFiles files_;

 private:
  std::string source_;
};

}  // namespace trainer
