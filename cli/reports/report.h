#pragma once

#include <filesystem>
#include <string>

namespace trainer {

/// What a run directory holds, as one page that needs no network: how far it came, curves, who is taken for
/// whom, weights, configuration, machine.
std::string report_html(const std::filesystem::path& run);

/// Puts it into the run directory as report.html.
void write_report(const std::filesystem::path& run);

}  // namespace trainer
