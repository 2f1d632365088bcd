#pragma once

#include <span>

namespace trainer {

/// The standard deviation of normal values that differ by as much: sqrt(pi) / 2 of the mean difference of two
/// of them (Downton 1966). One long pause among many values adds in proportion to its length, not to its
/// square. 0 of fewer than two values.
double deviation(std::span<const double> values);

/// The expected maximum of n standard normal values (David and Nagaraja, "Order Statistics", 2003, section
/// 3.1).
double expected_maximum(int n);

}  // namespace trainer
