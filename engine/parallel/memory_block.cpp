#include "engine/parallel/memory_block.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace trainer {
namespace {

std::byte* map_pages(std::int64_t bytes, int flags, int file) {
  void* address = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, 0);
  return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

class PrivateMemory final : public SharedMemory {
 public:
  PrivateMemory(std::int64_t size, bool is_sparse) : size_(size) {
    if (size == 0) return;
    data_ = map_pages(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!data_)
      throw Error(ExitCode::failure,
                  fmt::format("no memory for {} MiB: {}", size >> 20, std::generic_category().message(errno)),
                  "trainer summary CONFIG shows what takes memory");
    // Shuffled samples would lie on thousands of small pages.
    madvise(data_, static_cast<std::size_t>(size), is_sparse ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  }
  ~PrivateMemory() override {
    if (data_) munmap(data_, static_cast<std::size_t>(size_));
  }
  std::span<std::byte> bytes() override { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  std::int64_t size_;
  std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<SharedMemory> private_memory(std::int64_t bytes, bool is_sparse) {
  return std::make_unique<PrivateMemory>(bytes, is_sparse);
}

std::int64_t NamedMemory::room() {
  struct statvfs state {};
  if (statvfs("/dev/shm", &state) != 0) return 0;
  return static_cast<std::int64_t>(state.f_bavail * state.f_frsize);
}

std::unique_ptr<NamedMemory> NamedMemory::create(const std::string& name, std::int64_t bytes) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  auto memory = std::unique_ptr<NamedMemory>(new NamedMemory(file, bytes));
  if (ftruncate(file, bytes) == 0) return memory;
  remove_name(name);
  return nullptr;
}

std::unique_ptr<NamedMemory> NamedMemory::open(const std::string& name, std::int64_t bytes) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
  return file < 0 ? nullptr : std::unique_ptr<NamedMemory>(new NamedMemory(file, bytes));
}

NamedMemory::~NamedMemory() {
  if (data_) munmap(data_, static_cast<std::size_t>(size_));
  close(file_);
}

bool NamedMemory::reserve(int part, int parts) {
  const std::int64_t page = sysconf(_SC_PAGESIZE), pages = (size_ + page - 1) / page;
  const std::int64_t first = pages * part / parts * page;
  const std::int64_t last = std::min(pages * (part + 1) / parts * page, size_);
  return first >= last || posix_fallocate(file_, first, last - first) == 0;
}

bool NamedMemory::map() {
  data_ = map_pages(size_, MAP_SHARED, file_);
  return data_ != nullptr;
}

void NamedMemory::remove_name(const std::string& name) { shm_unlink(name.c_str()); }

}  // namespace trainer
