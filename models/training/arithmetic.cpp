#include "models/training/arithmetic.h"

#include "engine/core/error.h"
#include "engine/math/engine.h"
#include "engine/system/subnormals.h"

namespace trainer {
namespace {

/// An error of `choose` stands at `key`.
template <class Choose>
void choose_at(const Config& section, std::string_view key, Choose choose) {
  try {
    choose();
  } catch (const Error& error) {
    const Diagnostic& reason = error.diagnostics().front();
    section.fail(key, reason.what, reason.help);
  }
}

}  // namespace

void choose_arithmetic(const Config& train, const Arithmetic& arithmetic, ThreadPool& pool) {
  static bool keeps_subnormals = false;
  const bool portable = arithmetic.portable;
  if (portable)
    choose_at(train.at("exact"), "portable", [] { choose_portable(true); });
  else
    choose_portable(false);
  choose_at(train, "precision", [&] { choose_precision(arithmetic.precision); });
  // Processors differ in when they flush, and some never do.
  if (portable || keeps_subnormals) pool.run([&](int) { portable ? keep_subnormals() : flush_subnormals(); });
  keeps_subnormals = portable;
}

}  // namespace trainer
