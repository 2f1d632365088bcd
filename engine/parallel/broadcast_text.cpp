#include "engine/parallel/broadcast_text.h"

namespace trainer {

void broadcast_text(Communicator& group, std::string& text) {
  std::int64_t size = std::ssize(text);
  group.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(static_cast<std::size_t>(size));
  group.broadcast(std::as_writable_bytes(std::span(text)), 0);
}

}  // namespace trainer
