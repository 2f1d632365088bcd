#pragma once

namespace trainer {

/// The vector instructions our own kernels use on this CPU, chosen once: "AVX-512", "AVX2" or "baseline". The
/// environment variable TRAINER_INSTRUCTIONS=baseline|avx2|avx512|avx512_bf16 lowers the choice, for tests;
/// the last two differ in products of bfloat16 only, which avx512 computes without its instructions.
const char* instruction_set();

/// Whether sums of products use fused multiply-adds on every CPU, where there are none in software and
/// slowly: then all instruction sets give the same bits. False without a call. Call before layers are made,
/// from one thread.
void use_portable_kernels(bool portable);
bool portable_kernels();

}  // namespace trainer
