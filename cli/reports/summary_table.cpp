#include "cli/reports/summary_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "cli/terminal/text.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

bool has_key(const Config& layer, const std::string& key) {
  const Declaration& declaration = Catalog::all().at("layer").members.at(layer.type());
  return std::ranges::find(declaration.settings, key, &Setting::name) != declaration.settings.end() &&
         layer.has(key);
}

/// "3x5", or "5" of a sequence.
std::string extents_text(const std::vector<std::int64_t>& extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

/// "3x3, stride 2"; empty for a layer without a kernel or a window.
std::string kernel_text(const Config& layer) {
  const bool is_pool = layer.type().ends_with("_pool") && has_key(layer, "size");
  if (!is_pool && !has_key(layer, "kernel")) return "";
  const auto kernel = layer.get<std::vector<std::int64_t>>(is_pool ? "size" : "kernel");
  const std::string text = extents_text(kernel);
  if (!has_key(layer, "stride")) return text;
  const auto stride = layer.get<std::vector<std::int64_t>>("stride");
  if (stride == (is_pool ? kernel : std::vector<std::int64_t>(stride.size(), 1))) return text;
  const bool is_even = std::ranges::count(stride, stride.front()) == std::ssize(stride);
  return text + ", stride " + (is_even ? std::to_string(stride.front()) : extents_text(stride));
}

std::string type_text(const Sequence::Entry& entry) {
  if (!entry.config || !has_key(*entry.config, "activation") || entry.config->is_word("activation", "none"))
    return entry.type;
  return entry.type + ", " + entry.config->get<std::string>("activation");
}

struct Count {
  std::int64_t all = 0, trained = 0;
};

/// Whether layers train has a column if some do not.
class Rows {
 public:
  explicit Rows(const Network& network) : plan_(network.plan()) {
    rows_.push_back({"layer", "type", "kernel", "output", "parameters", "trains", "FLOPs"});
    rows_.push_back({"input", "", "", channels_first_text(network.input()), "", "", ""});
    const std::int64_t operations = add_all(network.layers().entries(), "", "");
    const Count count = count_of(0, plan_.parameter_end());
    rows_.push_back({"total", "", "", "", grouped(count.all),
                     count.trained == count.all ? "" : grouped(count.trained), number(operations)});
    constexpr std::ptrdiff_t kTrains = 5;
    if (count.trained == count.all)
      for (auto& row : rows_) row.erase(row.begin() + kTrains);
  }

  const std::vector<std::vector<std::string>>& cells() const { return rows_; }

 private:
  static std::string number(std::int64_t count) { return count > 0 ? grouped(count) : ""; }

  Count count_of(std::int64_t first, std::int64_t end) const {
    Count count;
    for (const Parameter& parameter : plan_.parameters()) {
      if (parameter.offset < first || parameter.offset >= end) continue;
      count.all += parameter.whole_shape().size();
      if (parameter.rate > 0) count.trained += parameter.whole_shape().size();
    }
    return count;
  }

  /// Adds the layers of a sequence that a file names; returns their operations.
  std::int64_t add_all(const std::vector<Sequence::Entry>& entries, const std::string& indent,
                       const std::string& above) {
    std::int64_t operations = 0;
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
      if (!entry->config) continue;
      // The bias of a sharded layer may belong to a BiasActivation that follows it.
      const auto next =
          std::find_if(entry + 1, entries.end(), [](const auto& other) { return other.config.has_value(); });
      add(*entry, indent, above, std::prev(next)->parameter_end);
      operations += entry->layer->flops();
    }
    return operations;
  }

  /// `above`: the name of the layer around it, which its own name need not repeat.
  void add(const Sequence::Entry& entry, const std::string& indent, const std::string& above,
           std::int64_t end) {
    const Count count = count_of(entry.first_parameter, end);
    const std::string name = !above.empty() && entry.name.starts_with(above + ".")
                                 ? entry.name.substr(above.size() + 1)
                                 : entry.name;
    const char* const trains = count.all == 0               ? ""
                               : count.trained == 0         ? "no"
                               : count.trained == count.all ? "yes"
                                                            : "partly";
    rows_.push_back({indent + name, type_text(entry), entry.config ? kernel_text(*entry.config) : "",
                     channels_first_text(entry.output), number(count.all), trains,
                     number(entry.layer->flops())});
    auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get());
    if (!composite) return;
    std::int64_t others = count.all, operations = entry.layer->flops();
    for (const Sequence* sequence : composite->sequences()) {
      operations -= add_all(sequence->entries(), indent + "  ", entry.name);
      for (const Sequence::Entry& inner : sequence->entries())
        others -= count_of(inner.first_parameter, inner.parameter_end).all;
    }
    if (others > 0 && entry.type == "residual")
      rows_.push_back({indent + "  shortcut", "conv", "1x1", channels_first_text(entry.output),
                       number(others), trains, number(operations)});
  }

  const NetworkPlan& plan_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

std::string summary_table(const Network& network) { return table(Rows(network).cells(), 3); }

}  // namespace trainer
