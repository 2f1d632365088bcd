#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "engine/parallel/communicator.h"
#include "engine/parallel/memory_block.h"

namespace trainer {
namespace {

class Complete final : public Request {
 public:
  bool test() override { return true; }
  void wait() override {}
};

template <class T>
void copy(std::span<const T> from, std::span<T> to) {
  if (from.size() != to.size()) throw std::logic_error("a group of one receives as much as it sends");
  if (from.data() != to.data()) std::ranges::copy(from, to.begin());
}

class Solo final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int world_rank(int) const override { return 0; }
  Heartbeat& heartbeat() override { return heartbeat_; }
  void barrier() override {}
  void sum(std::span<float>) override {}
  void sum(std::span<double>) override {}
  void sum(std::span<std::int64_t>) override {}
  void maximum(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine, int) override {
    return {{mine.begin(), mine.end()}};
  }
  void all_gather(std::span<const float> mine, std::span<float> all, std::span<const std::int64_t>) override {
    copy<float>(mine, all);
  }
  std::unique_ptr<Request> start_all_gather(std::span<const float> mine, std::span<float> all,
                                            std::span<const std::int64_t>) override {
    copy<float>(mine, all);
    return complete_request();
  }
  std::unique_ptr<Request> start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                            std::span<const std::int64_t>) override {
    copy<std::byte>(mine, all);
    return complete_request();
  }
  std::unique_ptr<Request> start_reduce_scatter(std::span<float>, std::span<const std::int64_t>) override {
    return complete_request();
  }
  void all_to_all(std::span<const float> out, std::span<const std::int64_t>, std::span<float> in,
                  std::span<const std::int64_t>) override {
    copy<float>(out, in);
  }
  std::unique_ptr<Request> start_all_to_all(std::span<const float> out, std::span<const std::int64_t>,
                                            std::span<float> in, std::span<const std::int64_t>) override {
    copy<float>(out, in);
    return complete_request();
  }
  std::unique_ptr<Request> start_all_to_all(std::span<const std::byte> out, std::span<const std::int64_t>,
                                            std::span<std::byte> in, std::span<const std::int64_t>) override {
    copy<std::byte>(out, in);
    return complete_request();
  }
  std::unique_ptr<Communicator> split(int, int) override { return solo(); }
  std::unique_ptr<Communicator> split_by_host() override { return solo(); }
  std::unique_ptr<SharedMemory> shared(std::int64_t bytes) override { return private_memory(bytes); }
  std::unique_ptr<RemoteMemory> remote_memory(std::int64_t bytes) override {
    return solo_remote_memory(bytes);
  }
  [[noreturn]] void abort(ExitCode code) override {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }

 private:
  Heartbeat heartbeat_;
};

}  // namespace

std::unique_ptr<Request> complete_request() { return std::make_unique<Complete>(); }

std::unique_ptr<Communicator> solo() { return std::make_unique<Solo>(); }

}  // namespace trainer
