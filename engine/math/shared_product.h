#pragma once

#include <functional>

#include "engine/math/kernels/kernels.h"

namespace trainer {

/// Multiply-adds in the time in which one float moves from one layout into another.
constexpr std::int64_t kMovingWork = 32;

/// Into how many parts, at most so many, to divide this work between this thread and waiting ones of its
/// pool: 1 if none waits or if it takes less than about 20 us.
int parts_of_work(std::int64_t multiply_adds, std::int64_t most);

/// Computes a product with waiting threads of the pool, which take some rows or columns of C each.
/// `multiply` must give an element the same bits in any part.
void multiply_shared(const Product& product, const std::function<void(const Product&)>& multiply);
void multiply_shared(const TreeProduct& product, const std::function<void(const TreeProduct&)>& multiply);

}  // namespace trainer
