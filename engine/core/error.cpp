#include "engine/core/error.h"

#include "engine/core/escape.h"

namespace trainer {
namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n\n") + diagnostic.text();
  return text;
}

}  // namespace

std::string Diagnostic::text() const {
  std::string text = "error: " + escaped(what);
  if (!place.empty()) text += "\n  --> " + escaped(place);
  if (!excerpt.empty()) text += "\n" + escaped_lines(excerpt);
  for (const std::string& note : notes) text += "\n   = " + escaped(note);
  if (!help.empty()) text += "\nhelp: " + escaped(help);
  return text;
}

Error::Error(ExitCode code, std::string what, std::string help)
    : Error(code, {Diagnostic{.what = std::move(what), .help = std::move(help)}}) {}

Error::Error(ExitCode code, std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), code_(code), diagnostics_(std::move(diagnostics)) {}

}  // namespace trainer
