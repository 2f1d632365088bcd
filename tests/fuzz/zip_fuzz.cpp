// A zip archive: every entry is unpacked to its end.
#include <algorithm>
#include <vector>

#include "datasets/readers/zip_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"zip", [](FuzzInput input) {
                          static MemoryFile file;
                          file.hold(input);
                          const ZipFile archive(file.path());
                          std::vector<std::uint8_t> piece(4096);
                          for (const ZipFile::Entry& entry : archive.entries()) {
                            const auto bytes = archive.open(entry.name);
                            for (std::int64_t left = bytes->size(); left > 0;) {
                              const auto some = std::min<std::int64_t>(left, std::ssize(piece));
                              bytes->read(std::span(piece).first(static_cast<std::size_t>(some)));
                              left -= some;
                            }
                            bytes->finish();
                          }
                        }};

}  // namespace
}  // namespace trainer
