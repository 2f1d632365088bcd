#include "datasets/readers/npy_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/core/float16.h"

namespace trainer {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kLongestHeader = 1 << 16;
constexpr std::size_t kPiece = 1 << 15;                   // bytes of one read
constexpr std::int64_t kLargest = std::int64_t{1} << 36;  // elements

/// The header's dictionary.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Parses the Python literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}

  /// False if the text is anything else.
  bool read(Header& header) {
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!quoted(key) || !take(':')) return false;
      const bool known = key == "descr"           ? descr(header)
                         : key == "fortran_order" ? order(header)
                         : key == "shape"         ? shape(header)
                                                  : false;
      if (!known) return false;
      if (!take(',')) {
        if (!take('}')) return false;
        break;
      }
    }
    skip_spaces();
    return text_.empty() && header.descr && header.fortran_order && header.shape;
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    skip_spaces();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool quoted(std::string& value) {
    if (!take('\'')) return false;
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) return false;
    value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool descr(Header& header) {
    skip_spaces();
    std::string value;
    if (text_.starts_with('[')) {  // several fields in one element: the message names the type
      header.descr.emplace("[");
      int depth = 0;
      do {
        depth += text_[0] == '[' ? 1 : text_[0] == ']' ? -1 : 0;
        text_.remove_prefix(1);
      } while (depth > 0 && !text_.empty());
      return true;
    }
    if (header.descr || !quoted(value)) return false;
    header.descr = value;
    return true;
  }
  bool order(Header& header) {
    if (header.fortran_order) return false;
    const bool fortran = word("True");
    if (!fortran && !word("False")) return false;
    header.fortran_order = fortran;
    return true;
  }
  bool shape(Header& header) {
    if (header.shape || !take('(')) return false;
    header.shape.emplace();
    while (!take(')')) {
      skip_spaces();
      std::int64_t extent = 0;
      const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (problem != std::errc{} || extent < 0) return false;
      text_.remove_prefix(end - text_.data());
      header.shape->push_back(extent);
      if (!take(',')) return take(')');
    }
    return true;
  }

  std::string_view text_;
};

template <class Number>
double to_double(Number value) {
  return static_cast<double>(value);
}
double to_double(Float16 value) { return double{to_float(value)}; }

template <class One, class Two, class Four, class Eight, class Use>
bool with_width(std::size_t width, const Use& use) {
  if (width == 1)
    use(One{});
  else if (width == 2)
    use(Two{});
  else if (width == 4)
    use(Four{});
  else if (width == 8)
    use(Eight{});
  return width == 1 || width == 2 || width == 4 || width == 8;
}

/// Calls use(value) with a value of an array's element type; false for types that are not read.
template <class Use>
bool with_type(char kind, std::size_t width, const Use& use) {
  if (kind == 'u' || (kind == 'b' && width == 1))
    return with_width<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(width, use);
  if (kind == 'i') return with_width<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(width, use);
  return kind == 'f' && width >= 2 && with_width<float, Float16, float, double>(width, use);
}

}  // namespace

NpyArray::NpyArray(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {
  std::array<std::uint8_t, 8> start;
  if (bytes_->size() < std::ssize(start) + 2)
    fail("not an npy file", fmt::format("only {} bytes", bytes_->size()));
  bytes_->read(start);
  if (!std::equal(kMagic.begin(), kMagic.end(), reinterpret_cast<const char*>(start.data())))
    fail("not an npy file", "an npy file begins with 93 4e 55 4d 50 59");
  const int version = start[6];
  if (version < 1 || version > 3)
    fail("npy file of another version", fmt::format("version {}; 1, 2 and 3 are read", version));
  std::array<std::uint8_t, 4> length{};
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  bytes_->read(std::span(length).first(length_bytes));
  const std::int64_t header_size =
      length[0] | length[1] << 8 | length[2] << 16 | std::int64_t{length[3]} << 24;
  const std::int64_t before = std::ssize(start) + static_cast<std::int64_t>(length_bytes);
  if (header_size > kLongestHeader || before + header_size > bytes_->size())
    fail("npy file is truncated or damaged", fmt::format("its header claims {} bytes", header_size));
  std::string header(header_size, '\0');
  bytes_->read({reinterpret_cast<std::uint8_t*>(header.data()), header.size()});
  parse(header);
  const std::int64_t expected = shape_.size() * static_cast<std::int64_t>(width_);
  begin_ = before + header_size;
  const std::int64_t there = bytes_->size() - begin_;
  if (there != expected)
    fail(there < expected ? "npy file is truncated" : "npy file is too long",
         fmt::format("its header claims {} x {} bytes; the file has {}", shape_.text(), width_, there));
}

void NpyArray::parse(std::string_view text) {
  Header header;
  if (!HeaderText(text).read(header)) fail("npy file is damaged", "its header is not valid");
  const std::string& descr = *header.descr;
  if (descr.find('O') != std::string::npos)
    fail("npy array of objects", "elements must be numbers; x.astype('float32') converts them");
  const char* const digits = descr.data() + std::min<std::size_t>(2, descr.size());
  const auto [end, problem] = std::from_chars(digits, descr.data() + descr.size(), width_);
  const bool is_simple = descr.size() >= 3 && problem == std::errc{} && end == descr.data() + descr.size() &&
                         std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  kind_ = is_simple ? descr[1] : '?';
  if (!is_simple || !with_type(kind_, width_, [](auto) {}))
    fail("npy array of another type",
         fmt::format("type `{}`; booleans, integers, float16, float32 and float64 are read",
                     descr.substr(0, 20)));
  big_endian_ = descr[0] == '>' && width_ > 1;
  if (*header.fortran_order && header.shape->size() > 1)
    fail("npy array in Fortran order", "numpy.ascontiguousarray(x) converts it to C order");
  if (header.shape->size() > Shape::kMaxRank)
    fail("array has too many axes",
         fmt::format("{} axes; up to {} are read", header.shape->size(), Shape::kMaxRank));
  std::int64_t total = 1;
  for (const std::int64_t extent : *header.shape) {
    if (extent == 0) fail("array holds nothing", "an extent in its header is 0");
    if (total > kLargest / extent)
      fail("array is too large", fmt::format("its header claims more than {} elements", kLargest));
    total *= extent;
  }
  shape_ = Shape(*header.shape);
}

template <class Take>
void NpyArray::convert(std::size_t first, std::span<std::uint8_t> bytes, const Take& take) const {
  with_type(kind_, width_, [&](auto value) {
    for (std::size_t i = 0; i < bytes.size() / sizeof value; ++i) {
      std::uint8_t* const element = bytes.data() + i * sizeof value;
      if (big_endian_ != (std::endian::native == std::endian::big))
        std::reverse(element, element + sizeof value);
      std::copy_n(element, sizeof value, reinterpret_cast<std::uint8_t*>(&value));
      take(first + i, to_double(value));
    }
  });
}

template <class Take>
void NpyArray::for_each(std::size_t count, const Take& take) {
  std::array<std::uint8_t, kPiece> buffer;
  const std::size_t most = buffer.size() / width_;
  for (std::size_t first = 0; first < count; first += most) {
    const std::span<std::uint8_t> bytes = std::span(buffer).first(std::min(most, count - first) * width_);
    bytes_->read(bytes);
    convert(first, bytes, take);
  }
  bytes_->finish();
}

float NpyArray::checked(std::size_t index, double value) const {
  if (!(std::fabs(value) <= double{std::numeric_limits<float>::max()}))
    fail("array holds a value that is not finite", fmt::format("element {} is {}", index, value));
  return static_cast<float>(value);
}

void NpyArray::read(std::span<float> elements, float divisor) {
  for_each(elements.size(),
           [&](std::size_t index, double value) { elements[index] = checked(index, value) / divisor; });
}

void NpyArray::read_row(std::int64_t row, std::span<float> elements, float divisor) const {
  const std::size_t begin = static_cast<std::size_t>(row) * elements.size();
  thread_local std::vector<std::uint8_t> bytes;
  bytes.resize(elements.size() * width_);
  bytes_->read_at(begin_ + static_cast<std::int64_t>(begin * width_), bytes);
  convert(begin, bytes, [&](std::size_t index, double value) {
    elements[index - begin] = checked(index, value) / divisor;
  });
}

std::string NpyArray::read_next(std::span<float> elements, float divisor) {
  const std::size_t begin = next_;
  next_ += elements.size();
  std::array<std::uint8_t, kPiece> buffer;
  const std::size_t most = buffer.size() / width_;
  std::string problem;
  for (std::size_t first = 0; first < elements.size(); first += most) {
    const std::size_t some = std::min(most, elements.size() - first);
    const std::span<std::uint8_t> bytes = std::span(buffer).first(some * width_);
    bytes_->read(bytes);
    convert(begin + first, bytes, [&](std::size_t index, double value) {
      const bool is_float = std::fabs(value) <= double{std::numeric_limits<float>::max()};
      if (!is_float && problem.empty()) problem = fmt::format("element {} is {}", index, value);
      elements[index - begin] = is_float ? static_cast<float>(value) / divisor : 0;
    });
  }
  return problem;
}

void NpyArray::read_labels(std::span<std::int32_t> labels, std::int32_t most) {
  for_each(labels.size(), [&](std::size_t index, double value) {
    if (!(value >= 0 && value <= most))
      fail("label out of range", fmt::format("label {} is {}; the classes are 0 to {}", index, value, most));
    labels[index] = static_cast<std::int32_t>(value);
  });
}

void NpyArray::read_lengths(std::span<std::int32_t> lengths, std::int64_t most) {
  for_each(lengths.size(), [&](std::size_t index, double value) {
    if (!(value >= 1 && value <= static_cast<double>(most)))
      fail("length out of range",
           fmt::format("sample {} has a length of {}; samples have 1 to {} positions", index, value, most));
    lengths[index] = static_cast<std::int32_t>(value);
  });
}

}  // namespace trainer
