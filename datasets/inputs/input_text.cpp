#include "datasets/inputs/input_text.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::size_t kPart = 1 << 16;

bool is_readable(int descriptor) {
  pollfd waits{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&waits, 1, 0) != 0;  // an error shows when it is read
}

}  // namespace

InputText::InputText(const std::string& path)
    : name_(path), file_(std::make_unique<ByteReader>(path)), left_(file_->size()) {}

InputText::InputText(int descriptor, std::string name) : name_(std::move(name)), descriptor_(descriptor) {}

InputText::Fill InputText::fill(bool waits) {
  if (ended_) return Fill::end;
  const std::size_t before = text_.size();
  if (file_) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(left_, kPart));
    text_.resize(before + size);
    file_->read({reinterpret_cast<std::uint8_t*>(text_.data()) + before, size});
    left_ -= static_cast<std::int64_t>(size);
    if (left_ == 0) file_->finish();
    ended_ = left_ == 0;
    return size > 0 ? Fill::more : Fill::end;
  }
  if (!waits && !is_readable(descriptor_)) return Fill::later;
  text_.resize(before + kPart);
  ssize_t size = 0;
  do {
    size = ::read(descriptor_, text_.data() + before, kPart);
  } while (size < 0 && errno == EINTR);
  text_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (size < 0)
    throw Error(ExitCode::data,
                fmt::format("cannot read {}: {}", name_, std::generic_category().message(errno)));
  ended_ = size == 0;
  return ended_ ? Fill::end : Fill::more;
}

void InputText::take(std::size_t bytes) {
  begin_ += bytes;
  // Text that was taken is removed now and then, so that each byte moves seldom.
  if (begin_ < text_.size() / 2 && begin_ < kPart) return;
  text_.erase(0, begin_);
  begin_ = 0;
}

}  // namespace trainer
