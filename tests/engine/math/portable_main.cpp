// Prints what portable_test.cpp compares, without Catch2, for processors that only have an emulator here.
#include <cstdio>

#include "engine/math/engine.h"
#include "tests/engine/math/portable_bits.h"

int main() {
  trainer::choose_portable(true);
  std::fputs(trainer::portable_text().c_str(), stdout);
  return trainer::portable_text() == trainer::kRecordedBits ? 0 : 1;
}
