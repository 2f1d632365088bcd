// A PNG, JPEG or WebP file: the first byte selects channels and size.
#include "datasets/readers/image_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"image", [](FuzzInput input) {
                          static MemoryFile file;
                          static ImageDecoder decoder;
                          if (input.empty()) return;
                          const int channels = (input[0] & 1) != 0 ? 3 : 1;
                          file.hold(input.subspan(1));
                          Image image;
                          decoder.decode(file.path(), channels, input[0] >> 1, image);
                          expect(std::ssize(image.pixels) == image.height * image.width * channels,
                                 "an image has holes");
                        }};

}  // namespace
}  // namespace trainer
