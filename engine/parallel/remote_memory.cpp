#include "engine/parallel/remote_memory.h"

#include <algorithm>

#include "engine/parallel/memory_block.h"

namespace trainer {
namespace {

class SoloRemoteMemory final : public RemoteMemory {
 public:
  explicit SoloRemoteMemory(std::int64_t bytes) : memory_(private_memory(bytes)) {}

  std::span<std::byte> own() override { return memory_->bytes(); }
  void write(std::span<const Message> messages) override {
    for (const Message& message : messages) std::ranges::copy(message.bytes, own().begin() + message.offset);
  }
  void set(std::span<const Counter> counters) override {
    for (const Counter& counter : counters)
      std::atomic_ref(*reinterpret_cast<std::int64_t*>(own().data() + counter.offset))
          .store(counter.value, std::memory_order_release);
  }
  void receive() override {}
  void close() override {}

 private:
  std::unique_ptr<SharedMemory> memory_;
};

}  // namespace

std::unique_ptr<RemoteMemory> solo_remote_memory(std::int64_t bytes) {
  return std::make_unique<SoloRemoteMemory>(bytes);
}

}  // namespace trainer
