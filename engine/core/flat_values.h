#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace trainer {

/// A view of a flat buffer that lies in one block of memory or in two: the elements before front().size() in
/// the first. Owns nothing.
template <class T>
class FlatValues {
 public:
  FlatValues() = default;
  /// One block.
  template <std::convertible_to<std::span<T>> Block>
  FlatValues(Block&& block) : rest_(block) {}
  FlatValues(std::span<T> front, std::span<T> rest) : front_(front), rest_(rest) {}
  template <std::same_as<std::remove_const_t<T>> U>
  requires(!std::same_as<T, U>) FlatValues(const FlatValues<U>& other)
      : front_(other.front()), rest_(other.rest()) {}

  std::span<T> front() const { return front_; }
  std::span<T> rest() const { return rest_; }
  std::array<std::span<T>, 2> blocks() const { return {front_, rest_}; }
  std::int64_t size() const { return std::ssize(front_) + std::ssize(rest_); }

  /// Elements [first, first + count). logic_error unless they lie in one block.
  std::span<T> subspan(std::int64_t first, std::int64_t count) const {
    const std::int64_t border = std::ssize(front_);
    const bool in_front = first < border;
    if (in_front ? first + count > border : first - border + count > std::ssize(rest_))
      throw std::logic_error("a range of flat values reaches over the end of its block");
    return (in_front ? front_ : rest_)
        .subspan(static_cast<std::size_t>(in_front ? first : first - border),
                 static_cast<std::size_t>(count));
  }

 private:
  std::span<T> front_, rest_;
};

}  // namespace trainer
