#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/counted.h"
#include "models/training/observer.h"

namespace trainer {

/// "1.0 MiB"
std::string bytes_text(std::int64_t bytes);
/// "0.41s", "12s", "3:05", "2:00:05"
std::string seconds_text(double seconds);
/// "0:07", "1:02:03"; rounds up.
std::string clock_text(double seconds);
/// False where the locale (LC_ALL, LC_CTYPE, LANG) has ASCII only.
bool shows_utf8();
/// A loss in few characters, however large: "0.0412", "18.4000", "32,486", "3.14e+07"
std::string loss_text(double loss);
/// The width of the window behind standard output; 0: none. Under mpirun standard output is always a
/// terminal, but only a real one has a width.
int window_columns();
/// `text` in lines of at most `width` columns (0: one line), broken behind ", ", those after the first one
/// indented by `indent` columns; `begin`: the column of the first line.
std::string wrapped(const std::string& text, std::size_t begin, std::size_t indent, std::size_t width);
/// The width of text for people, where its words allow it.
inline constexpr std::size_t kTextColumns = 80;
/// Text in lines of at most `width` columns, broken at blanks. Its own newlines stay; the lines that a break
/// makes are indented by `indent` columns.
std::string in_lines(const std::string& text, std::size_t indent = 0, std::size_t width = kTextColumns);
/// "98.60%", "nan"
std::string fraction_text(double fraction, int decimals = 2);
/// "98.6%" for fractions, else like a loss.
std::string metric_text(const MetricFacts& metric, double value, int decimals = 1);
/// "1,200", "421,247", "0.0412", "3.1e-06"
std::string short_number(double number);
/// Rows of as many cells each, as columns: the first `left` ones begin at the left, the others end at the
/// right. Control characters of a cell become visible, newlines too. Where 80 columns need it, columns stand
/// closer, and a first column of texts takes several lines.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t left);
/// At most `most` (4 or more) characters, of which an ellipsis is the end where `utf8` has more.
std::string shortened(const std::string& utf8, std::size_t most);
/// Columns that text takes in a terminal.
std::size_t columns_of(const std::string& utf8);

}  // namespace trainer
