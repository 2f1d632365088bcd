#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "datasets/readers/byte_reader.h"

namespace trainer {

/// A text that is read front to back, as it comes: from a file, plain or gzipped, or from a pipe.
class InputText {
 public:
  enum class Fill { more, end, later };

  /// A regular file. Error(data) if it cannot be opened.
  explicit InputText(const std::string& path);
  /// A descriptor that the caller owns; `name` stands for it in messages.
  InputText(int descriptor, std::string name);

  const std::string& name() const { return name_; }
  /// The text that has been read and not taken.
  std::string_view rest() const { return std::string_view(text_).substr(begin_); }
  /// True if nothing follows rest().
  bool is_all() const { return ended_; }
  /// Reads more; `later`: nothing has come yet, and it was not to wait. Error(data) if a file is damaged.
  Fill fill(bool waits);
  /// Removes bytes from the front of rest().
  void take(std::size_t bytes);

 private:
  std::string name_, text_;
  std::size_t begin_ = 0;
  std::unique_ptr<ByteReader> file_;
  std::int64_t left_ = 0;  ///< bytes of the file that are not read
  int descriptor_ = -1;
  bool ended_ = false;
};

}  // namespace trainer
