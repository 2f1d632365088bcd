#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// The text that the bytes of generated tokens make, as far as it is certain: whole characters of UTF-8, up
/// to the first of some texts that end it.
class GeneratedText {
 public:
  explicit GeneratedText(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

  /// Returns the text that these bytes make certain. Bytes that are not UTF-8 become U+FFFD, one for each
  /// maximal subpart of a character (Unicode 15, section 3.9).
  std::string add(std::string_view bytes);
  /// What is left when no more bytes come.
  std::string end();
  /// Whether a text that ends it has come; what follows is not part of it.
  bool stopped() const { return stopped_; }

 private:
  std::string characters(std::string_view bytes, bool is_end);

  std::vector<std::string> stops_;
  std::string held_;       ///< may be the begin of a stop
  std::string character_;  ///< the first bytes of a character
  bool stopped_ = false;
};

}  // namespace trainer
