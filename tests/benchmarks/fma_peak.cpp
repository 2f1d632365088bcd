// fma_peak THREADS: prints the most GFLOP/s that so many threads reach together in float32, by multiply-adds
// whose operands never leave the registers. Built for the machine at hand.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// As wide as a register: the compiler's largest alignment is that of its widest vector.
constexpr int kLanes = __BIGGEST_ALIGNMENT__ / sizeof(float);
typedef float Vector __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
// Enough chains to hide the latency of an operation, few enough for 16 registers.
constexpr int kChains = 12;
constexpr long kRounds = 400'000;
constexpr int kTrials = 100;

/// Multiply-adds that the compiler cannot leave out, since their sum is given back.
float multiply_add(float factor, float addend) {
  const Vector a = Vector{} + factor, b = Vector{} + addend;
  Vector chains[kChains];
  // All different, or the compiler computes one for all.
  for (int i = 0; i < kChains; ++i) chains[i] = a * static_cast<float>(i);
  for (long round = 0; round < kRounds; ++round)
#pragma GCC unroll 12
    for (Vector& chain : chains) chain = chain * a + b;
  Vector sum = {};
  for (const Vector& chain : chains) sum += chain;
  return sum[0];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  using Clock = std::chrono::steady_clock;
  // Read at run time, so that nothing is computed by the compiler.
  volatile float factor = 0.5f, addend = 1.0f, result = 0;
  Clock::time_point start;
  double best = 0;
  std::barrier run_collectively(threads);
  const auto work = [&](int thread) {
    for (int trial = 0; trial < kTrials; ++trial) {
      run_collectively.arrive_and_wait();
      if (thread == 0) start = Clock::now();
      const float own = multiply_add(factor, addend);
      run_collectively.arrive_and_wait();
      if (thread != 0) continue;
      result = own;
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      best = std::max(best, 2.0 * kLanes * kChains * kRounds * threads / seconds / 1e9);
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  std::printf("%.1f\n", best);
  return result == result ? 0 : 1;
}
