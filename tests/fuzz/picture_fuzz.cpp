// A PNG or JPEG file: the first byte says how it is wanted.
#include "datasets/readers/picture_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"picture", [](FuzzInput input) {
                          static MemoryFile file;
                          static PictureDecoder decoder;
                          if (input.empty()) return;
                          const int channels = (input[0] & 1) != 0 ? 3 : 1;
                          file.hold(input.subspan(1));
                          Picture picture;
                          decoder.decode(file.path(), channels, input[0] >> 1, picture);
                          expect(std::ssize(picture.pixels) == picture.height * picture.width * channels,
                                 "a picture has holes");
                        }};

}  // namespace
}  // namespace trainer
