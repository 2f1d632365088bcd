#pragma once

#include <filesystem>
#include <string>

#include "cli/reports/html.h"

namespace trainer {

/// A run directory as one HTML page that needs no network: outcome, curves, confusion matrix, weights,
/// configuration, machine. A live page has no weights, whose file is read as a whole.
std::string report_html(const std::filesystem::path& run, PageUse use = PageUse::kept);

/// Writes that page to report.html in the run directory; returns its path.
std::filesystem::path write_report(const std::filesystem::path& run);

}  // namespace trainer
