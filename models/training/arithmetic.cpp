#include "models/training/arithmetic.h"

#include "engine/core/error.h"
#include "engine/math/engine.h"
#include "engine/system/subnormals.h"

namespace trainer {

void choose_arithmetic(const Config& train, bool portable, ThreadPool& pool) {
  static bool keeps_subnormals = false;
  try {
    choose_portable(portable);
  } catch (const Error& error) {
    if (!portable) throw;
    const Diagnostic& reason = error.diagnostics().front();
    train.at("exact").fail("portable", reason.what, reason.help);
  }
  // Processors differ in when they flush, and some never do.
  if (portable || keeps_subnormals) pool.run([&](int) { portable ? keep_subnormals() : flush_subnormals(); });
  keeps_subnormals = portable;
}

}  // namespace trainer
