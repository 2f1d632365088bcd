#pragma once

#include <string>
#include <vector>

namespace trainer {

/// `text`, escaped for HTML, between tags or in quotes.
std::string html_text(const std::string& text);

/// A table; the first row is its heading.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

/// `inside`, which is HTML, folded: a click on `summary` shows it.
std::string html_folded(const std::string& summary, const std::string& inside);

/// A page of a run under way is loaded again every few seconds.
enum class PageUse { kept, live };

/// A whole page that needs no network. `title` is escaped here, `body` is HTML.
std::string html_page(const std::string& title, const std::string& body, PageUse use = PageUse::kept);

}  // namespace trainer
