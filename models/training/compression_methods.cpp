#include <fmt/format.h>

#include "engine/config/registry.h"
#include "engine/parallel/compression.h"

namespace trainer {
namespace {

constexpr int kMaxRank = 256;

Setting min_size() {
  return integer("min_size",
                 "parameters with fewer values are sent in float32: they are few bytes, and errors in them "
                 "cost accuracy")
      .at_least(0)
      .fallback("4096");
}

const Registry<Compression>::Add bf16_compression{
    {.name = "bf16",
     .help = "bfloat16, half the bytes: rounds the gradients of each host and the changes of parameters"},
    [](const Config&) {
      return std::make_unique<Compression>(Compression{.method = Compression::Method::bf16});
    }};

const Registry<Compression>::Add one_bit_compression{
    {.name = "one_bit",
     .help = "the sign of each gradient, and two means a block of 128, with error feedback (1-bit SGD)",
     .settings = {min_size(), real("momentum",
                                   "of the sums that ranks know: what they code is their gradients plus "
                                   "this momentum; 0: gradients alone. Rounds of train.local have none")
                                  .at_least(0)
                                  .below(1)
                                  .fallback(fmt::format("{}", Compression::kDefaultMomentum))}},
    [](const Config& config) {
      return std::make_unique<Compression>(Compression{.method = Compression::Method::one_bit,
                                                       .min_size = config.get<std::int64_t>("min_size"),
                                                       .momentum = config.get<float>("momentum")});
    }};

const Registry<Compression>::Add powersgd_compression{
    {.name = "powersgd",
     .help = "factors of a matrix of low rank near each gradient, with error feedback (PowerSGD)",
     .primary = "rank",
     .settings = {integer("rank", "rank of these matrices; a higher one is nearer and sends more")
                      .at_least(1)
                      .at_most(kMaxRank)
                      .fallback("4"),
                  min_size()}},
    [](const Config& config) {
      return std::make_unique<Compression>(Compression{.method = Compression::Method::powersgd,
                                                       .rank = config.get<int>("rank"),
                                                       .min_size = config.get<std::int64_t>("min_size")});
    }};

}  // namespace
}  // namespace trainer
