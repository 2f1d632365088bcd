#include "datasets/readers/image_file.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tests/datasets/files.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

Image decoded(const std::string& path, int channels, std::int64_t enough = 1 << 20) {
  Image image;
  ImageDecoder().decode(path, channels, enough, image);
  CHECK(std::ssize(image.pixels) == image.height * image.width * channels);
  return image;
}

/// True when all pixels are these, to within the loss of JPEG.
bool looks_like(const Image& image, const Bytes& pixel, int tolerance = 3) {
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    if (std::abs(image.pixels[i] - pixel[i % pixel.size()]) > tolerance) return false;
  return !image.pixels.empty();
}

std::uint32_t crc_of(const Bytes& bytes, std::size_t first, std::size_t count) {
  std::uint32_t crc = 0xffffffff;
  for (std::size_t i = first; i < first + count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// A PNG without its gAMA chunk: length, name, 4 bytes, checksum.
Bytes without_gamma(Bytes png) {
  const std::string_view name = "gAMA";
  const auto found = std::search(png.begin(), png.end(), name.begin(), name.end());
  REQUIRE(found != png.end());
  png.erase(found - 4, found + 12);
  return png;
}

}  // namespace

TEST_CASE("every kind of PNG, JPEG and WebP reads as colours or as gray", "[images]") {
  const TemporaryDirectory directory;
  const Bytes orange = {200, 120, 40}, gray = {128};
  const std::size_t area = 9 * 17;
  const auto colour = [&](const std::string& name, const Bytes& bytes) {
    INFO(name);
    const std::string path = directory.write("a.png", bytes);
    const Image image = decoded(path, 3);
    CHECK(image.height == 9);
    CHECK(image.width == 17);
    CHECK(looks_like(image, orange));
    CHECK(looks_like(decoded(path, 1), {decoded(path, 1).pixels[0]}));
  };
  colour("PNG", png_bytes(9, 17, 3, repeated(area, orange)));
  colour("PNG with alpha", png_bytes(9, 17, 4, repeated(area, {200, 120, 40, 255})));
  colour("PNG with a palette", palette_png_bytes(9, 17, {0, 0, 0, 200, 120, 40}, repeated(area, {1})));
  colour("JPEG", jpeg_bytes(9, 17, 3, repeated(area, orange)));
  colour("progressive JPEG", jpeg_bytes(9, 17, 3, repeated(area, orange), true));
  colour("WebP", webp_bytes(9, 17, 3, repeated(area, orange)));
  colour("lossless WebP", webp_bytes(9, 17, 3, repeated(area, orange), true));
  colour("WebP with alpha", webp_bytes(9, 17, 4, repeated(area, {200, 120, 40, 255})));
  // No black, and ink inverted: light.
  colour("CMYK JPEG", jpeg_bytes(9, 17, 4, repeated(area, {200, 120, 40, 255})));

  const auto shade = [&](const std::string& name, const Bytes& bytes, const Bytes& expected) {
    INFO(name);
    const std::string path = directory.write("a.jpg", bytes);
    CHECK(looks_like(decoded(path, 1), expected));
    CHECK(looks_like(decoded(path, 3), expected));
  };
  shade("gray PNG", png_bytes(9, 17, 1, repeated(area, gray)), gray);
  shade("gray JPEG", jpeg_bytes(9, 17, 1, repeated(area, gray)), gray);
  shade("gray PNG of 16 bits", deep_png_bytes(9, 17, std::vector<std::uint16_t>(area, 65535)), {255});
  const Bytes deep = deep_png_bytes(9, 17, std::vector<std::uint16_t>(area, 0x8080));
  shade("gray PNG of 16 bits in linear light", deep, {188});
  shade("gray PNG of 16 bits without a gamma", without_gamma(deep), gray);
  shade("half transparent PNG", png_bytes(9, 17, 2, repeated(area, {255, 128})), gray);
  shade("transparent PNG", png_bytes(9, 17, 2, repeated(area, {255, 0})), {0});
  shade("gray WebP", webp_bytes(9, 17, 3, repeated(area, {128, 128, 128})), gray);
  const Bytes clear = repeated(area, {255, 255, 255, 0}), half = repeated(area, {255, 255, 255, 128});
  shade("transparent WebP", webp_bytes(9, 17, 4, clear), {0});
  shade("half transparent WebP", webp_bytes(9, 17, 4, half, true), gray);
}

TEST_CASE("a colour has the same gray in PNG, JPEG and WebP", "[images]") {
  const TemporaryDirectory directory;
  const Bytes red = repeated(9 * 17, {255, 0, 0});
  for (const Bytes& bytes :
       {png_bytes(9, 17, 3, red), jpeg_bytes(9, 17, 3, red), webp_bytes(9, 17, 3, red, true)})
    CHECK(looks_like(decoded(directory.write("a", bytes), 1), {76}));
}

TEST_CASE("a lossless WebP keeps each pixel", "[images]") {
  const TemporaryDirectory directory;
  Bytes pixels(5 * 7 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37);
  CHECK(decoded(directory.write("a.webp", webp_bytes(5, 7, 3, pixels, true)), 3).pixels == pixels);
}

TEST_CASE("a large JPEG or WebP comes smaller, but not smaller than is enough", "[images]") {
  const TemporaryDirectory directory;
  const Bytes pixels = repeated(80 * 160, {9, 99, 199});
  const Bytes bytes = GENERATE_COPY(jpeg_bytes(80, 160, 3, pixels), webp_bytes(80, 160, 3, pixels),
                                    webp_bytes(80, 160, 3, pixels, true));
  const std::string path = directory.write("a.jpg", bytes);
  const auto [enough, height] = GENERATE(table<std::int64_t, std::int64_t>(
      {{1, 10}, {10, 10}, {11, 20}, {20, 20}, {21, 40}, {40, 40}, {41, 80}, {1000, 80}}));
  const Image image = decoded(path, 3, enough);
  CHECK(image.height == height);
  CHECK(image.width == 2 * height);
  CHECK(looks_like(image, {9, 99, 199}));
}

TEST_CASE("a damaged image is an error that names the file", "[images]") {
  const TemporaryDirectory directory;
  Bytes noise(64 * 64 * 3);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::uint8_t>(i * i * 2654435761u >> 11);
  const Bytes png = png_bytes(64, 64, 3, noise), jpeg = jpeg_bytes(64, 64, 3, noise),
              progressive = jpeg_bytes(64, 64, 3, noise, true), webp = webp_bytes(64, 64, 3, noise),
              lossless = webp_bytes(64, 64, 3, noise, true);
  const auto cut = [](const Bytes& bytes, std::size_t part) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<long>(bytes.size() * part / 100));
  };
  Bytes huge_png = png, huge_jpeg = jpeg;
  for (const std::size_t at : {16u, 20u})
    huge_png[at + 1] = 1;  // width and height in its first chunk: + 65536
  const std::uint32_t crc = crc_of(huge_png, 12, 17);
  for (std::size_t i = 0; i < 4; ++i) huge_png[29 + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
  const Bytes frame = {0xff, 0xc0};
  const auto at = std::search(huge_jpeg.begin(), huge_jpeg.end(), frame.begin(), frame.end());
  REQUIRE(at != huge_jpeg.end());
  std::fill_n(at + 5, 4, std::uint8_t{0xf0});  // height and width
  Bytes huge_webp = lossless;
  std::fill_n(huge_webp.begin() + 21, 3, std::uint8_t{0xff});  // width and height of 14 bits
  huge_webp[24] |= 0x0f;
  Bytes animation = {'R', 'I', 'F', 'F', 22, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0, 0, 2};
  animation.resize(animation.size() + 9);
  Bytes wrong_webp = webp;
  std::fill(wrong_webp.begin() + 30, wrong_webp.begin() + 60, std::uint8_t{0xff});
  Bytes bad_crc = png;
  bad_crc[png.size() / 2] ^= 4;
  const auto [name, bytes, message] = GENERATE_COPY(table<std::string, Bytes, std::string>({
      {"empty", {}, "empty"},
      {"text", bytes_of("not an image"), "neither PNG, JPEG nor WebP"},
      {"GIF", bytes_of("GIF89a...."), "neither PNG, JPEG nor WebP"},
      {"PNG's signature alone", cut(png, 0), "empty"},
      {"half a PNG", cut(png, 50), "damaged"},
      {"nearly a whole PNG", cut(png, 99), "damaged"},
      {"PNG with a wrong checksum", bad_crc, "damaged"},
      {"PNG of 4 billion pixels", huge_png, "at most 67108864 are read"},
      {"a little of a JPEG", cut(jpeg, 5), "damaged"},
      {"half a JPEG", cut(jpeg, 50), "damaged"},
      {"nearly a whole JPEG", cut(jpeg, 97), "damaged"},
      {"half a progressive JPEG", cut(progressive, 50), "damaged"},
      {"JPEG of 4 billion pixels", huge_jpeg, "at most 67108864 are read"},
      {"JPEG of nothing", Bytes{0xff, 0xd8, 0xff, 0xd9}, "damaged"},
      {"a little of a WebP", cut(webp, 5), "the file ends early"},
      {"half a WebP", cut(webp, 50), "the file ends early"},
      {"nearly a whole WebP", cut(webp, 99), "the file ends early"},
      {"half a lossless WebP", cut(lossless, 50), "the file ends early"},
      {"nearly a whole lossless WebP", cut(lossless, 99), "the file ends early"},
      {"WebP of wrong bytes", wrong_webp, "its data are invalid"},
      {"WebP of 268 million pixels", huge_webp, "at most 67108864 are read"},
      {"animated WebP", animation, "only single images are read"},
      {"WebP of nothing", bytes_of("RIFF\4\1\1\1WEBP"), "damaged"},
  }));
  INFO(name);
  const std::string path = directory.write("a.jpg", bytes);
  CHECK_THAT(data_error([&] { decoded(path, 3); }), Catch::Contains(message) && Catch::Contains("a.jpg"));
}

TEST_CASE("no flipped bit of an image does worse than an error", "[images]") {
  const TemporaryDirectory directory;
  const Bytes good = GENERATE(png_bytes(8, 8, 3, repeated(64, {1, 99, 200})),
                              jpeg_bytes(8, 8, 3, repeated(64, {1, 99, 200})),
                              jpeg_bytes(8, 8, 4, repeated(64, {1, 99, 200, 7}), true),
                              webp_bytes(8, 8, 4, repeated(64, {1, 99, 200, 7})),
                              webp_bytes(8, 8, 3, repeated(64, {1, 99, 200}), true));
  for (std::size_t position = 0; position < good.size(); ++position) {
    Bytes bad = good;
    bad[position] = static_cast<std::uint8_t>(bad[position] ^ 1 << position % 8);
    const std::string path = directory.write("a.jpg", bad);
    try {
      Image image;
      ImageDecoder().decode(path, 3, 4, image);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
    }
  }
}

}  // namespace trainer
