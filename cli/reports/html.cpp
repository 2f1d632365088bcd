#include "cli/reports/html.h"

#include <fmt/format.h>

namespace trainer {

std::string html_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"wide\"><table>\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    text += "<tr>";
    for (const std::string& cell : rows[row])
      text += fmt::format("<{0}>{1}</{0}>", row == 0 ? "th" : "td", html_text(cell));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string html_folded(const std::string& summary, const std::string& inside) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_text(summary), inside);
}

}  // namespace trainer
