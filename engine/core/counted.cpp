#include "engine/core/counted.h"

#include <cstddef>
#include <iterator>

namespace trainer {

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (std::ptrdiff_t place = std::ssize(digits) - 3; place > first; place -= 3)
    digits.insert(static_cast<std::size_t>(place), ",");
  return digits;
}

std::string counted(std::int64_t number, const std::string& noun, const std::string& plural_ending) {
  return grouped(number) + " " + noun + (number == 1 ? "" : plural_ending);
}

}  // namespace trainer
