#pragma once

#include <string>
#include <vector>

namespace trainer {

/// `text` to stand in HTML, between tags or quotes.
std::string html_text(const std::string& text);

/// Rows of texts, the first of them the heading.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

/// `inside`, which is HTML, to be opened by a click on `summary`.
std::string html_folded(const std::string& summary, const std::string& inside);

}  // namespace trainer
