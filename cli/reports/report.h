#pragma once

#include <filesystem>
#include <string>

namespace trainer {

/// A run directory as one HTML page that needs no network: outcome, curves, confusion matrix, weights,
/// configuration, machine.
std::string report_html(const std::filesystem::path& run);

/// Writes that page to report.html in the run directory; returns its path.
std::filesystem::path write_report(const std::filesystem::path& run);

}  // namespace trainer
