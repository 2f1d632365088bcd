#include "models/network/unit_sum.h"

#include <array>
#include <utility>
#include <vector>

#include "engine/core/sum_tree.h"

namespace trainer {
namespace {

class TreeSum final : public UnitSum {
 public:
  TreeSum(ModelGroup& group, const std::vector<std::int64_t>& borders)
      : group_(group), tiles_(static_cast<int>(std::ssize(borders)) - 1) {
    std::vector<Range> all_roots;
    for (int rank = 0; rank < group.size(); ++rank) {
      const Range tiles = part_of(tiles_, rank, group.size());
      const SumTree tree = SumTree::of_leaves(tiles_, tiles);
      roots_.push_back(std::ssize(tree.roots()));
      all_roots.insert(all_roots.end(), tree.roots().begin(), tree.roots().end());
      if (rank != group.rank()) continue;
      mine_ = tree;
      for (std::int64_t tile = tiles.first; tile <= tiles.last; ++tile)
        borders_.push_back(borders[static_cast<std::size_t>(tile)] -
                           borders[static_cast<std::size_t>(tiles.first)]);
    }
    all_ = SumTree(tiles_, all_roots);
  }

  std::span<const std::int64_t> borders() const override { return borders_; }
  std::int64_t scratch() const override {
    return group_.size() > 1 ? static_cast<std::int64_t>(all_.inputs()) : 0;
  }

  void sum(int worker, std::span<const float> parts, std::span<float> total,
           std::span<float> scratch) override {
    const std::int64_t size = std::ssize(total);
    std::array<const float*, ModelGroup::kMaxUnitTiles> inputs{};
    std::array<float*, ModelGroup::kMaxUnitTiles> roots{};
    for (std::size_t tile = 0; tile < mine_.inputs(); ++tile)
      inputs[tile] = parts.data() + static_cast<std::int64_t>(tile) * size;
    roots[0] = total.data();
    if (group_.size() > 1) {
      std::int64_t before = 0;
      for (int rank = 0; rank < group_.rank(); ++rank) before += roots_[static_cast<std::size_t>(rank)];
      for (std::size_t root = 0; root < mine_.roots().size(); ++root)
        roots[root] = scratch.data() + (before + static_cast<std::int64_t>(root)) * size;
    }
    mine_.sum(std::span(inputs).first(mine_.inputs()), std::span(roots).first(mine_.roots().size()), 0, size);
    if (group_.size() == 1) return;

    const std::span<float> all = scratch.first(all_.inputs() * total.size());
    group_.gather(worker, all, roots_, size);
    for (std::size_t root = 0; root < all_.inputs(); ++root)
      inputs[root] = all.data() + static_cast<std::int64_t>(root) * size;
    roots[0] = total.data();
    all_.sum(std::span(inputs).first(all_.inputs()), std::span(roots).first(1), 0, size);
  }

 private:
  ModelGroup& group_;
  int tiles_;  ///< of all ranks
  std::vector<std::int64_t> borders_;
  std::vector<std::int64_t> roots_;  ///< of each rank: roots of its tree
  SumTree mine_{1, {}}, all_{1, {}};
};

}  // namespace

std::unique_ptr<UnitSum> make_unit_sum(ModelGroup& group, std::int64_t width, std::int64_t together) {
  return std::make_unique<TreeSum>(group, ModelGroup::unit_borders(width, together));
}

TileSum::TileSum(std::unique_ptr<UnitSum> sum, std::int64_t summed, Plan& plan)
    : sum_(std::move(sum)),
      parts_(plan.scratch(Shape{summed, sum_->tiles()}.size())),
      scratch_(plan.scratch(Shape{summed, sum_->scratch()}.size())) {}

}  // namespace trainer
