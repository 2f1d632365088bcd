#include "models/network/unit_sum.h"

#include <array>

#include "engine/math/gemm.h"

namespace trainer {
namespace {

/// Parts of a block of lines that the second-level cache holds.
constexpr std::int64_t kPartFloats = 128 << 10;
/// A product of fewer lines costs more than the cache saves.
constexpr std::int64_t kFewestLines = 128;

}  // namespace

UnitSum::UnitSum(ModelGroup& group, std::int64_t width, std::int64_t together, std::int64_t positions,
                 std::int64_t columns, Plan& plan)
    : group_(&group), positions_(positions), columns_(columns) {
  const std::vector<std::int64_t> borders = ModelGroup::unit_borders(width, together);
  const int tiles = static_cast<int>(std::ssize(borders)) - 1;
  std::vector<Range> all_roots;
  for (int rank = 0; rank < group.size(); ++rank) {
    const Range part = part_of(tiles, rank, group.size());
    const SumTree tree = SumTree::of_leaves(tiles, part);
    roots_.push_back(std::ssize(tree.roots()));
    if (rank == group.rank()) {
      mine_ = tree;
      first_root_ = std::ssize(all_roots);
      for (std::int64_t tile = part.first; tile <= part.last; ++tile)
        borders_.push_back(borders[static_cast<std::size_t>(tile)] -
                           borders[static_cast<std::size_t>(part.first)]);
    }
    all_roots.insert(all_roots.end(), tree.roots().begin(), tree.roots().end());
  }
  all_ = SumTree(tiles, all_roots);

  const std::int64_t line = columns * (std::ssize(borders_) - 1);
  if (gemm_is_chained() && positions > 1 && line > 0)
    lines_at_once_ = std::max(kFewestLines, kPartFloats / line);
  parts_ = lines_at_once_ > 0 ? plan.scratch(0, lines_at_once_ * line) : plan.scratch(positions * line);
  scratch_ = plan.scratch(gathered());
}

std::int64_t UnitSum::scratch_roots() const {
  return group_ && group_->size() > 1 ? static_cast<std::int64_t>(all_.inputs()) : 0;
}

/// Adds this rank's tiles of some lines; with other ranks, into the roots that they gather.
void UnitSum::add_tiles(const Pass& pass, const Range& lines, const float* parts, float* total) const {
  const std::int64_t size = lines.count() * columns_, all = pass.rows() * positions_ * columns_;
  std::array<const float*, ModelGroup::kMaxUnitTiles> inputs{};
  std::array<float*, ModelGroup::kMaxUnitTiles> roots{};
  for (std::size_t tile = 0; tile < mine_.inputs(); ++tile)
    inputs[tile] = parts + static_cast<std::int64_t>(tile) * size;
  float* const to = group_->size() > 1 ? pass.buffer(scratch_).data() + first_root_ * all : total;
  for (std::size_t root = 0; root < mine_.roots().size(); ++root)
    roots[root] = to + static_cast<std::int64_t>(root) * all + lines.first * columns_;
  mine_.sum(std::span(inputs).first(mine_.inputs()), std::span(roots).first(mine_.roots().size()), 0, size);
}

void UnitSum::add_ranks(const Pass& pass, float* total) const {
  const std::int64_t size = pass.rows() * positions_ * columns_;
  const std::span<float> all(pass.buffer(scratch_).data(), all_.inputs() * static_cast<std::size_t>(size));
  group_->gather(pass.worker(), all, roots_, size);
  std::array<const float*, ModelGroup::kMaxUnitTiles> inputs{};
  for (std::size_t root = 0; root < all_.inputs(); ++root)
    inputs[root] = all.data() + static_cast<std::int64_t>(root) * size;
  all_.sum(std::span(inputs).first(all_.inputs()), std::array{total}, 0, size);
}

}  // namespace trainer
