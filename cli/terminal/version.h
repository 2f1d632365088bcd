#pragma once

namespace trainer {

/// "0.1.0"
const char* version();
/// The revision of the sources this program was built from; where git could tell none, words that say so.
const char* source_revision();

}  // namespace trainer
