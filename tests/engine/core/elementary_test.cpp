#include "engine/core/elementary.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/core/random.h"

namespace trainer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Values between two that follow from their index alone.
class Arguments {
 public:
  Arguments(double low, double high) : low_(low), high_(high) {}
  double at(std::uint64_t i) const {
    return low_ + (high_ - low_) * (static_cast<double>(stream_.bits(2 * i)) * 0x1p-32 +
                                    static_cast<double>(stream_.bits(2 * i + 1)) * 0x1p-64);
  }

 private:
  double low_, high_;
  RandomStream stream_{1, "elementary"};
};

constexpr std::uint64_t kCount = 20000;

/// The largest difference from what the C library computes, in units of its last place.
template <class Own, class Library>
double largest_error(const Arguments& arguments, Own own, Library library) {
  double worst = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = arguments.at(i), expected = library(x), actual = own(x);
    const double unit = std::nextafter(std::fabs(expected), kInfinity) - std::fabs(expected);
    worst = std::fmax(worst, std::fabs(actual - expected) / unit);
  }
  return worst;
}

/// A hash of the bits of a function's values.
template <class Own>
std::uint64_t bits_of(const Arguments& arguments, Own own) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t i = 0; i < kCount; ++i)
    hash = (hash ^ std::bit_cast<std::uint64_t>(own(arguments.at(i)))) * 0x100000001b3;
  return hash;
}

}  // namespace

TEST_CASE("elementary functions differ from the C library's by 2 units in the last place at most", "[core]") {
  const auto exp = [](double x) { return elementary::exp(x); };
  const auto log = [](double x) { return elementary::log(x); };
  CHECK(largest_error({-700, 700}, exp, [](double x) { return std::exp(x); }) <= 1);
  CHECK(largest_error({-1, 1}, exp, [](double x) { return std::exp(x); }) <= 1);
  CHECK(largest_error({0, 3}, log, [](double x) { return std::log(x); }) <= 1);
  CHECK(largest_error({0.99, 1.01}, log, [](double x) { return std::log(x); }) <= 1);
  CHECK(largest_error({1e-300, 1e300}, log, [](double x) { return std::log(x); }) <= 1);
  for (const double most : {1.0, 1e-3, 1e-12})
    CHECK(largest_error({-most, most}, elementary::log1p, [](double x) { return std::log1p(x); }) <= 2);
  for (const double most : {1.0, 10.0, 1e6, 1e11}) {
    CHECK(largest_error(
              {-most, most}, [](double x) { return elementary::sin(x); },
              [](double x) { return std::sin(x); }) <= 1);
    CHECK(largest_error(
              {-most, most}, [](double x) { return elementary::cos(x); },
              [](double x) { return std::cos(x); }) <= 1);
  }
  CHECK(largest_error(
            {-1.5, 1.5}, [](double x) { return elementary::tan(x); }, [](double x) { return std::tan(x); }) <=
        2);
  for (const double base : {0.9, 0.999, 2.0, 10000.0})
    CHECK(largest_error(
              {-70, 70}, [&](double y) { return elementary::pow(base, y); },
              [&](double y) { return std::pow(base, y); }) <= 1);
  for (const double power : {0.5, 2.0, 0.9, -3.0, 1e5})
    CHECK(largest_error(
              {0.995, 1.005}, [&](double x) { return elementary::pow(x, power); },
              [&](double x) { return std::pow(x, power); }) <= 1);
}

TEST_CASE("elementary functions have the values of IEEE 754 where there is no other", "[core]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(elementary::exp(0.0) == 1);
  CHECK(elementary::exp(800.0) == kInfinity);
  CHECK(elementary::exp(-kInfinity) == 0);
  CHECK(std::isnan(elementary::exp(nan)));
  CHECK(elementary::log(1) == 0);
  CHECK(elementary::log(0) == -kInfinity);
  CHECK(elementary::log(kInfinity) == kInfinity);
  CHECK(std::isnan(elementary::log(-1)));
  CHECK(elementary::log1p(0) == 0);
  CHECK(elementary::log1p(-1) == -kInfinity);
  CHECK(elementary::log1p(kInfinity) == kInfinity);
  CHECK(elementary::sin(0.0) == 0);
  CHECK(elementary::cos(0.0) == 1);
  CHECK(std::isnan(elementary::sin(kInfinity)));
  CHECK(elementary::pow(0.1, 1) == 0.1);
  CHECK(elementary::pow(0, 0) == 1);
  CHECK(elementary::pow(0, 0.9) == 0);
  CHECK(elementary::pow(0, -1) == kInfinity);
  CHECK(elementary::pow(-2, 3) == -8);
  CHECK(elementary::pow(10, 400) == kInfinity);
  CHECK(elementary::pow(10, -400) == 0);
  CHECK(elementary::pow(0.5, 1e300) == 0);
}

TEST_CASE("elementary functions have the same bits on every processor and by every compiler", "[core]") {
  CHECK(bits_of({-40, 40}, [](double x) { return elementary::exp(x); }) == 0xa90d53ccfd84a4a2);
  CHECK(bits_of({0, 1000}, elementary::log) == 0xf0af6c2ea4bd675b);
  CHECK(bits_of({-1, 3}, elementary::log1p) == 0xa9753cab8c4ef46e);
  CHECK(bits_of({-1e4, 1e4}, [](double x) { return elementary::sin(x); }) == 0x940d6f7731a80b76);
  CHECK(bits_of({-1e4, 1e4}, [](double x) { return elementary::cos(x); }) == 0x72737335c0af4799);
  CHECK(bits_of({-1.5, 1.5}, [](double x) { return elementary::tan(x); }) == 0x3e44a5d4c382e6ea);
  CHECK(bits_of({0, 9}, [](double x) { return elementary::pow(x, 0.9); }) == 0x44ab7fdde8286f15);
  CHECK(bits_of({0, 1}, [](double x) { return elementary::pow(x, 77); }) == 0x1348c4bb309b88d2);
}

}  // namespace trainer
