#include "engine/core/error.h"

namespace trainer {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n\n") + diagnostic.text();
  return text;
}

}  // namespace

std::string printable(std::string_view text, bool keep_lines) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, in UTF-8.
    const bool c1 =
        byte == 0xC2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xE0) == 0x80;
    if (c1) ++i;
    const bool kept = byte == '\t' || (keep_lines && byte == '\n');
    result += (byte < 0x20 && !kept) || byte == 0x7F || c1 ? '?' : text[i];
  }
  return result;
}

std::string Diagnostic::text() const {
  std::string text = "error: " + what;
  if (!place.empty()) text += "\n  --> " + place;
  if (!excerpt.empty()) text += "\n" + excerpt;
  for (const std::string& note : notes) text += "\n   = " + note;
  if (!help.empty()) text += "\nhelp: " + help;
  return printable(text, true);
}

Error::Error(ExitCode code, std::string what, std::string help)
    : Error(code, {Diagnostic{.what = std::move(what), .help = std::move(help)}}) {}

Error::Error(ExitCode code, std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), code_(code), diagnostics_(std::move(diagnostics)) {}

}  // namespace trainer
