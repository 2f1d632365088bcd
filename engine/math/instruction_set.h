#pragma once

namespace trainer {

/// The vector instructions our own kernels use on this CPU, chosen once: "AVX-512", "AVX2" or "baseline". The
/// environment variable TRAINER_INSTRUCTIONS=baseline|avx2|avx512 lowers the choice, for tests.
const char* instruction_set();

}  // namespace trainer
