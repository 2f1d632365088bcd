#include "engine/parallel/bfloat16_wire.h"

#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/core/index.h"
#include "engine/parallel/spare_buffers.h"

namespace trainer {
namespace {

/// In bytes.
std::vector<std::int64_t> bytes_of(std::span<const std::int64_t> counts) {
  std::vector<std::int64_t> bytes(counts.begin(), counts.end());
  for (std::int64_t& count : bytes) count *= static_cast<std::int64_t>(sizeof(Bfloat16));
  return bytes;
}

std::int64_t sum_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

/// Messages under way with their memory, and what is done with those that arrived.
class Bfloat16Wire::Exchange final : public Request {
 public:
  using Finish = std::function<void(std::span<const Bfloat16>)>;
  Exchange(Bfloat16Wire& wire, std::size_t out, std::size_t in)
      : wire_(wire), out_(take_spare(wire.spare_, out)), in_(take_spare(wire.spare_, in)) {}
  ~Exchange() override {
    request_.reset();
    if (!finished_) give_back();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::span<Bfloat16> out() { return out_; }
  std::span<Bfloat16> in() { return in_; }
  void start(std::unique_ptr<Request> request, Finish finish) {
    request_ = std::move(request);
    finish_ = std::move(finish);
  }

  bool test() override {
    if (!finished_ && request_->test()) finish();
    return finished_;
  }
  void wait() override {
    if (finished_) return;
    request_->wait();
    finish();
  }

 private:
  void finish() {
    finish_(in_);
    finished_ = true;
    request_.reset();
    give_back();
  }
  /// Its memory, for the next messages.
  void give_back() {
    wire_.spare_.push_back(std::move(out_));
    wire_.spare_.push_back(std::move(in_));
  }

  Bfloat16Wire& wire_;
  Buffer out_, in_;
  std::unique_ptr<Request> request_;
  Finish finish_;
  bool finished_ = false;
};

std::unique_ptr<Request> Bfloat16Wire::start_reduce_scatter(std::span<float> values,
                                                            std::span<const std::int64_t> counts) {
  const auto ranks = at(ranks_.size()), rank = at(ranks_.rank());
  if (counts.size() != ranks || sum_of(counts) != std::ssize(values))
    throw std::logic_error("a collective's counts do not fit its buffer");
  const std::span<float> mine = values.subspan(at(sum_of(counts.first(rank))), at(counts[rank]));
  auto exchange = std::make_unique<Exchange>(*this, values.size(), mine.size() * ranks);
  to_bfloat16(values, exchange->out());
  const std::vector<std::int64_t> out = bytes_of(counts),
                                  in(ranks, static_cast<std::int64_t>(mine.size() * sizeof(Bfloat16)));
  exchange->start(ranks_.start_all_to_all(std::as_bytes(exchange->out()), out,
                                          std::as_writable_bytes(exchange->in()), in),
                  [mine, ranks](std::span<const Bfloat16> received) {
                    to_float(received.first(mine.size()), mine);
                    for (std::size_t other = 1; other < ranks; ++other)
                      add(received.subspan(other * mine.size(), mine.size()), mine);
                  });
  return exchange;
}

std::unique_ptr<Request> Bfloat16Wire::start_all_to_all(std::span<const float> out,
                                                        std::span<const std::int64_t> counts_out,
                                                        std::span<float> in,
                                                        std::span<const std::int64_t> counts_in) {
  auto exchange = std::make_unique<Exchange>(*this, out.size(), in.size());
  to_bfloat16(out, exchange->out());
  exchange->start(ranks_.start_all_to_all(std::as_bytes(exchange->out()), bytes_of(counts_out),
                                          std::as_writable_bytes(exchange->in()), bytes_of(counts_in)),
                  [in](std::span<const Bfloat16> received) { to_float(received, in); });
  return exchange;
}

std::unique_ptr<Request> Bfloat16Wire::start_all_gather_changes(std::span<const float> changes,
                                                                std::span<float> values,
                                                                std::span<const std::int64_t> counts) {
  const auto first = at(sum_of(counts.first(at(ranks_.rank()))));
  auto exchange = std::make_unique<Exchange>(*this, changes.size(), values.size());
  to_bfloat16(changes, exchange->out());
  exchange->start(ranks_.start_all_gather(std::as_bytes(exchange->out()),
                                          std::as_writable_bytes(exchange->in()), bytes_of(counts)),
                  [values, first, last = first + changes.size()](std::span<const Bfloat16> received) {
                    add(received.first(first), values.first(first));
                    add(received.subspan(last), values.subspan(last));
                  });
  return exchange;
}

}  // namespace trainer
