#pragma once

#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// `path`, or `path`.gz where only that exists; empty when neither does.
std::string existing_file(const std::string& path);

/// The files of a set that is known by name, looked for where users keep data: in DIR and DIR/NAME, DIR being
/// data.path (then only there), $TRAINER_DATA, ~/.cache/trainer and ./datasets. The first directory that
/// holds one of them must hold the set.
class KnownFiles {
 public:
  /// Sets that share their file names with others are looked for in DIR/NAME first, and in DIR itself only
  /// when the user named it.
  enum class Where { either, own_folder };
  KnownFiles(std::string set, std::vector<std::string> files, const std::string& data_path,
             Where where = Where::either);

  /// True when no file of the set is anywhere.
  bool missing() const { return directory_.empty(); }
  /// "train-images-idx3-ubyte[.gz] in data, data/mnist"
  std::string looked_for() const;
  /// The path of one file; empty when it is not there.
  std::string find(const std::string& file) const;
  /// The same; an Error(data) when it is not there.
  std::string require(const std::string& file) const;

 private:
  std::string set_;
  std::vector<std::string> files_, directories_;
  std::string directory_;
};

/// A reader of a public set.
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
