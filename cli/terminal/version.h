#pragma once

namespace trainer {

/// "0.1.0"
const char* version();
/// The git revision of the sources of this build, or a text that it is not known.
const char* source_revision();

}  // namespace trainer
