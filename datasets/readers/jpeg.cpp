#include "datasets/readers/jpeg.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>

// These need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

namespace trainer {
namespace {

/// Receives libjpeg's errors, which leave it by longjmp, and its warnings.
struct Problems {
  jpeg_error_mgr manager;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  std::array<char, JMSG_LENGTH_MAX> message;
};

Problems& problems_of(j_common_ptr jpeg) { return *reinterpret_cast<Problems*>(jpeg->err); }

[[noreturn]] void stop(j_common_ptr jpeg) {
  Problems& problems = problems_of(jpeg);
  (*jpeg->err->format_message)(jpeg, problems.message.data());
  std::longjmp(problems.escape, 1);
}

/// A level below 0 is a warning. libjpeg fills missing or invalid data with gray: that is an error here.
/// Warnings that valid files cause as well are ignored.
void note(j_common_ptr jpeg, int level) {
  constexpr std::array kHarmless = {JWRN_ADOBE_XFORM, JWRN_BOGUS_PROGRESSION, JWRN_EXTRANEOUS_DATA,
                                    JWRN_JFIF_MAJOR,  JWRN_NOT_SEQUENTIAL,    JWRN_TOO_MUCH_DATA};
  if (level < 0 && std::ranges::count(kHarmless, jpeg->err->msg_code) == 0) stop(jpeg);
}

/// A small progressive file could hold scans of the whole image without end.
void limit_scans(j_common_ptr jpeg) {
  constexpr int kMaxScans = 200;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
    jpeg->err->msg_code = JERR_BAD_PROGRESSION;
    stop(jpeg);
  }
}

std::uint8_t multiplied(unsigned a, unsigned b) { return static_cast<std::uint8_t>((a * b + 127) / 255); }

/// Converts CMYK as Adobe stores it, inverted: a value is the light that passes.
void light_of_cmyk(const std::uint8_t* cmyk, std::int64_t width, int channels, std::uint8_t* out) {
  for (std::int64_t i = 0; i < width; ++i, cmyk += 4, out += channels) {
    write_pixel(multiplied(cmyk[0], cmyk[3]), multiplied(cmyk[1], cmyk[3]), multiplied(cmyk[2], cmyk[3]),
                channels, out);
  }
}

/// True if the image is too large; sets the message.
bool is_refused(const jpeg_decompress_struct& jpeg, std::size_t bytes, Problems& problems) {
  constexpr std::int64_t kDensest = 1024;  // a run of equal blocks
  const std::string why = ImageDecoder::refusal(jpeg.image_height, jpeg.image_width, bytes, kDensest);
  why.copy(problems.message.data(), problems.message.size() - 1);
  return !why.empty();
}

/// longjmp skips destructors, so no object with one lives here: the caller owns all memory.
bool decode(jpeg_decompress_struct& jpeg, Problems& problems, std::span<const std::uint8_t> file,
            std::int64_t enough, std::vector<std::uint8_t>& row, Image& image) {
  if (setjmp(problems.escape) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &problems.progress;
  jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  if (is_refused(jpeg, file.size(), problems)) return false;
  const bool cmyk = jpeg.num_components == 4;
  jpeg.out_color_space = cmyk ? JCS_CMYK : image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg.scale_num = 1;
  jpeg.scale_denom =
      static_cast<unsigned>(ImageDecoder::reduction(jpeg.image_height, jpeg.image_width, enough));
  jpeg_start_decompress(&jpeg);
  const std::size_t width = jpeg.output_width;
  image.height = jpeg.output_height;
  image.width = jpeg.output_width;
  const std::size_t stride = width * image.channels;
  image.pixels.resize(stride * jpeg.output_height);
  row.resize(cmyk ? width * 4 : 0);
  const bool inverted = jpeg.saw_Adobe_marker;
  while (jpeg.output_scanline < jpeg.output_height) {
    std::uint8_t* const out = image.pixels.data() + jpeg.output_scanline * stride;
    JSAMPROW line = cmyk ? row.data() : out;
    jpeg_read_scanlines(&jpeg, &line, 1);
    if (!cmyk) continue;
    if (!inverted)
      for (std::uint8_t& ink : row) ink = static_cast<std::uint8_t>(255 - ink);
    light_of_cmyk(row.data(), image.width, image.channels, out);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

bool is_jpeg(std::span<const std::uint8_t> file) {
  return file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff;
}

std::string decode_jpeg(std::span<const std::uint8_t> file, std::int64_t enough,
                        std::vector<std::uint8_t>& row, Image& image) {
  jpeg_decompress_struct jpeg{};
  Problems problems{};
  jpeg.err = jpeg_std_error(&problems.manager);
  problems.manager.error_exit = stop;
  problems.manager.emit_message = note;
  problems.progress.progress_monitor = limit_scans;
  const bool good = decode(jpeg, problems, file, enough, row, image);
  jpeg_destroy_decompress(&jpeg);
  return good ? "" : std::string(problems.message.data());
}

}  // namespace trainer
