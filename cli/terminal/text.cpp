#include "cli/terminal/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string_view>

#include "engine/core/escape.h"
#include "engine/system/files.h"

namespace trainer {

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.2f}s", seconds);
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e12)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

bool shows_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* locale = std::getenv(variable); locale && *locale) {
      const std::string_view name = locale;
      return name.find("UTF-8") != name.npos || name.find("utf8") != name.npos ||
             name.find("utf-8") != name.npos;
    }
  return false;
}

int window_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  // A launcher gives its ranks a terminal of their own, with the size that the user's had at the start.
  if (::tcgetsid(STDOUT_FILENO) == -1 && size.ws_col > 0) {
    const Descriptor users(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
    if (winsize now{};
        users.number() >= 0 && ::ioctl(users.number(), TIOCGWINSZ, &now) == 0 && now.ws_col > 0)
      return now.ws_col;
  }
  return size.ws_col;
}

std::string wrapped(const std::string& text, std::size_t begin, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t column = begin;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = text.find(", ", at);
    const std::size_t end = comma == std::string::npos ? text.size() : comma + 2;
    const std::string part = text.substr(at, end - at);
    const std::size_t columns = columns_of(part);
    const std::size_t shown = comma == std::string::npos ? columns : columns - 1;  // without the last blank
    if (width > 0 && at > 0 && column + shown > width) {
      lines.pop_back();
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    }
    lines += part;
    column += columns;
    at = end;
  }
  return lines;
}

std::string loss_text(double loss) {
  if (std::isnan(loss)) return "nan";  // whatever its sign
  const double size = std::abs(loss);
  if (size > 0 && size < 0.001) return fmt::format("{:.2e}", loss);
  if (size < 100) return fmt::format("{:.4f}", loss);
  if (size < 1000) return fmt::format("{:.1f}", loss);
  return size < 1e7 ? grouped(std::llround(loss)) : fmt::format("{:.3g}", loss);
}

std::string fraction_text(double fraction, int decimals) {
  return std::isnan(fraction) ? "nan" : fmt::format("{:.{}f}%", 100 * fraction, decimals);
}

std::string metric_text(const MetricFacts& metric, double value, int decimals) {
  return metric.is_fraction ? fraction_text(value, decimals) : loss_text(value);
}

std::string short_number(double number) {
  if (std::isnan(number)) return "nan";
  const double size = std::abs(number);
  return size >= 1000 && size < 1e15 ? grouped(std::llround(number)) : fmt::format("{:.4g}", number);
}

std::size_t columns_of(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string in_lines(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::size_t column = 0;
  bool has_word = false;  // the line
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      lines += text[at++];
      column = 0;
      has_word = false;
      continue;
    }
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
    const std::size_t columns = columns_of(text.substr(at, end - at));
    if (has_word && column + columns > width) {
      lines += "\n" + std::string(indent, ' ') + text.substr(word, end - word);
      column = indent + columns - (word - at);
    } else {
      lines += text.substr(at, end - at);
      column += columns;
    }
    has_word = true;
    at = end;
  }
  return lines;
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  constexpr std::size_t kIndent = 2, kNarrowest = 16;
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (auto& row : cells)
    for (std::size_t i = 0; i < widths.size(); ++i) {
      row[i] = escaped(row[i]);
      widths[i] = std::max(widths[i], columns_of(row[i]));
    }
  const std::size_t gaps = std::max<std::size_t>(widths.size(), 1) - 1,
                    closer = std::accumulate(widths.begin(), widths.end(), gaps);
  const bool wraps =
      left > 0 && closer > kTextColumns && closer - widths.front() + kNarrowest <= kTextColumns;
  const std::size_t space = closer + gaps > kTextColumns && (closer <= kTextColumns || wraps) ? 1 : 2;
  if (wraps) {
    const std::size_t room = widths.front() - (closer - kTextColumns);
    widths.front() = 0;
    for (auto& row : cells) {
      std::istringstream lines(row.front() = in_lines(row.front(), kIndent, room));
      for (std::string line; std::getline(lines, line);)
        widths.front() = std::max(widths.front(), columns_of(line));
    }
  }
  std::string text;
  for (const auto& row : cells) {
    std::string line;
    const std::size_t end = std::min(row.front().find('\n'), row.front().size());
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = i == 0 ? row[i].substr(0, end) : row[i];
      const std::string blanks(widths[i] - columns_of(cell), ' ');
      line += std::string(i > 0 ? space : 0, ' ') + (i < left ? cell + blanks : blanks + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + row.front().substr(end) + "\n";
  }
  return text;
}

std::string shortened(const std::string& utf8, std::size_t most) {
  constexpr std::string_view kEllipsis = " ...";
  std::vector<std::size_t> begins;  // of characters
  for (std::size_t i = 0; i < utf8.size(); ++i)
    if ((utf8[i] & 0xC0) != 0x80) begins.push_back(i);
  if (begins.size() <= most) return utf8;
  return utf8.substr(0, begins[most - kEllipsis.size()]).append(kEllipsis);
}

}  // namespace trainer
