// The format: header length (u64, little-endian), header (JSON), the tensors' bytes without a gap.
#include "models/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "engine/core/bfloat16.h"
#include "engine/core/float16.h"
#include "engine/core/little_endian.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// About 100,000 tensors; the parsed header takes about 15 times as much memory.
constexpr std::uint64_t kMaxHeaderBytes = 16 << 20;
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadataKey = "__metadata__";

/// How the format calls a type of elements.
struct ElementType {
  std::string_view name;
  std::uint64_t bytes = 0;
  bool is_float = false;  ///< one that is read
};

constexpr ElementType kElementTypes[] = {
    {"F32", 4, true}, {"F16", 2, true}, {"BF16", 2, true}, {"F64", 8, true}, {"BOOL", 1},
    {"U8", 1},        {"I8", 1},        {"U16", 2},        {"I16", 2},       {"U32", 4},
    {"I32", 4},       {"U64", 8},       {"I64", 8}};

/// A tensor and its bytes, counted from the end of the header.
struct Entry {
  std::string name;
  Shape shape;
  ElementType type;
  std::uint64_t begin = 0, end = 0;
};

/// PyTorch's counter of the batches of a batch normalisation, which no network uses.
bool is_batch_counter(std::string_view name, const ElementType& type) {
  return type.name == "I64" && (name == "num_batches_tracked" || name.ends_with(".num_batches_tracked"));
}

/// A name that is safe to print.
std::string quoted(const std::string& name) { return json(name).dump(-1, ' ', true); }

/// Stops the parser before it builds a large document from an invalid header: duplicate keys, deep nesting,
/// long lists. In a valid header, {"name": {"shape": [2, 3], ...}}, lists are at depth 2 and their items
/// at 3.
class HeaderGuard {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& value) {
    constexpr int kListDepth = 2;
    using Event = json::parse_event_t;
    if (event == Event::object_start) {
      if (depth >= kListDepth) throw std::runtime_error("it is nested too deeply");
      keys_.at(static_cast<std::size_t>(depth)).clear();
    } else if (event == Event::array_start) {
      if (depth != kListDepth) throw std::runtime_error("a list is out of place");
      items_ = 0;
    } else if (event == Event::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!keys_.at(static_cast<std::size_t>(depth) - 1).insert(name).second)
        throw std::runtime_error("the key " + quoted(name) + " is a duplicate");
    } else if (event == Event::value && depth > kListDepth && ++items_ > Shape::kMaxRank) {
      throw std::runtime_error(fmt::format("a list has more than {} items", Shape::kMaxRank));
    }
    return true;
  }

 private:
  std::array<std::set<std::string>, 2> keys_;  // of the object open at each depth
  int items_ = 0;                              // of the list that is open
};

json parse_header(const InputFile& file, const std::string& text) {
  try {
    HeaderGuard guard;
    json header = json::parse(text, std::ref(guard));
    if (!header.is_object()) throw std::runtime_error("it is not a JSON object");
    return header;
  } catch (const std::exception& error) {
    file.fail(fmt::format("the header cannot be read: {}", error.what()));
  }
}

std::optional<std::vector<std::int64_t>> counts(const json& list) {
  if (!list.is_array() || list.size() > Shape::kMaxRank) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const json& item : list) {
    if (!item.is_number_unsigned() || !std::in_range<std::int64_t>(item.get<std::uint64_t>()))
      return std::nullopt;
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

std::uint64_t byte_size(const InputFile& file, const Entry& entry) {
  try {
    const std::int64_t elements = entry.shape.size();
    if (std::cmp_less_equal(elements, file.size()))
      return static_cast<std::uint64_t>(elements) * entry.type.bytes;
  } catch (const Error&) {  // the product of the extents overflows
  }
  file.fail(fmt::format("tensor {} is larger than the file", quoted(entry.name)));
}

Entry read_entry(const InputFile& file, const std::string& name, const json& fields, bool takes_others) {
  const auto fail = [&](const std::string& what) {
    file.fail(fmt::format("tensor {}: {}", quoted(name), what));
  };
  if (!fields.is_object() || fields.size() != 3 || !fields.contains("dtype") || !fields.contains("shape") ||
      !fields.contains("data_offsets"))
    fail("the header must give dtype, shape and data_offsets, no more");
  if (!fields["dtype"].is_string()) fail("dtype is not a text");
  const auto& type_name = fields["dtype"].get_ref<const std::string&>();
  const auto* const type = std::ranges::find(kElementTypes, type_name, &ElementType::name);
  const bool is_known = type != std::end(kElementTypes);
  if (!is_known || !(type->is_float || takes_others || is_batch_counter(name, *type)))
    fail(fmt::format("the elements are {}, only F32, F16, BF16 and F64 are supported", quoted(type_name)));
  const auto extents = counts(fields["shape"]);
  if (!extents) fail(fmt::format("shape is not a list of at most {} counts", Shape::kMaxRank));
  const auto offsets = counts(fields["data_offsets"]);
  if (!offsets || offsets->size() != 2 || offsets->front() > offsets->back())
    fail("data_offsets is not a pair [begin, end]");
  Entry entry{.name = name,
              .shape = Shape(*extents),
              .type = *type,
              .begin = static_cast<std::uint64_t>(offsets->front()),
              .end = static_cast<std::uint64_t>(offsets->back())};
  if (entry.end - entry.begin != byte_size(file, entry))
    fail(fmt::format("{} {} elements do not take {} bytes", entry.shape.text(), type_name,
                     entry.end - entry.begin));
  return entry;
}

std::map<std::string, std::string> read_metadata(const InputFile& file, const json& fields) {
  std::map<std::string, std::string> metadata;
  if (!fields.is_object()) file.fail("__metadata__ is not a map");
  for (const auto& [key, value] : fields.items()) {
    if (!value.is_string()) file.fail(fmt::format("__metadata__: {} is not a text", quoted(key)));
    metadata[key] = value;
  }
  return metadata;
}

/// Every byte belongs to exactly one tensor.
void check_layout(const InputFile& file, const std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::uint64_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != next)
      file.fail(fmt::format("tensor {} begins at byte {}, not where the one before it ends ({})",
                            quoted(entry.name), entry.begin, next));
    next = entry.end;
  }
  if (next != data_bytes)
    file.fail(fmt::format("the tensors take {} bytes, the file has {}", next, data_bytes));
}

template <class T>
void read_little_endian(const InputFile& file, std::uint64_t offset, std::span<T> values) {
  file.read(offset, std::as_writable_bytes(values));
  swap_if_big_endian(values);
}

/// Reads elements of type T, each of which `convert` makes a float.
template <class T, class Convert>
void read_as(const InputFile& file, std::uint64_t offset, std::span<float> values, Convert convert) {
  std::vector<T> part(std::min<std::size_t>(values.size(), 1 << 16));
  for (std::size_t first = 0; first < values.size(); first += part.size()) {
    const std::size_t count = std::min(part.size(), values.size() - first);
    read_little_endian(file, offset + first * sizeof(T), std::span(part).first(count));
    std::transform(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count),
                   values.begin() + static_cast<std::ptrdiff_t>(first), convert);
  }
}

std::vector<float> read_values(const InputFile& file, std::uint64_t data_start, const Entry& entry) {
  std::vector<float> values(static_cast<std::size_t>(entry.shape.size()));
  const std::uint64_t offset = data_start + entry.begin;
  if (entry.type.name == "F16")
    read_as<Float16>(file, offset, values, [](Float16 value) { return to_float(value); });
  else if (entry.type.name == "BF16")
    read_as<Bfloat16>(file, offset, values, [](Bfloat16 value) { return to_float(value); });
  else if (entry.type.name == "F64")
    read_as<double>(file, offset, values, [](double value) { return static_cast<float>(value); });
  else
    read_little_endian(file, offset, std::span(values));
  return values;
}

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& path, std::vector<OtherTensor>* others) {
  const InputFile file(path, ExitCode::weights);
  std::uint64_t header_bytes = 0;
  if (file.size() < kLengthBytes) file.fail("is too short for a safetensors file");
  read_little_endian(file, 0, std::span(&header_bytes, 1));
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size() - kLengthBytes)
    file.fail(fmt::format("is not a safetensors file (its header would be {} bytes long)", header_bytes));
  std::string text(static_cast<std::size_t>(header_bytes), '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));

  TensorFile result;
  std::vector<Entry> entries;
  const json header = parse_header(file, text);
  for (const auto& [name, fields] : header.items()) {
    if (name == kMetadataKey)
      result.metadata = read_metadata(file, fields);
    else
      entries.push_back(read_entry(file, name, fields, others != nullptr));
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  const std::uint64_t data_start = kLengthBytes + header_bytes;
  check_layout(file, entries, file.size() - data_start);

  for (Entry& entry : entries) {
    if (is_batch_counter(entry.name, entry.type)) continue;
    if (entry.type.is_float)
      result.tensors.push_back({std::move(entry.name), entry.shape, read_values(file, data_start, entry)});
    else
      others->push_back({std::move(entry.name), entry.shape, std::string(entry.type.name)});
  }
  return result;
}

std::string safetensors_head(std::span<const TensorEntry> tensors,
                             const std::map<std::string, std::string>& metadata) {
  ordered_json header = ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const TensorEntry& tensor : tensors) {
    const std::uint64_t bytes = tensor.is_counter ? sizeof(std::int64_t) : sizeof(float);
    const std::uint64_t end = offset + static_cast<std::uint64_t>(tensor.shape.size()) * bytes;
    const auto [place, added] =
        header.emplace(tensor.name, ordered_json{{"dtype", tensor.is_counter ? "I64" : "F32"},
                                                 {"shape", tensor.shape.extents()},
                                                 {"data_offsets", {offset, end}}});
    if (!added) throw std::logic_error(fmt::format("two tensors are called {}", tensor.name));
    offset = end;
  }
  std::string text = header.dump();
  // Readers may map the values into memory, so they begin at a multiple of 8.
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t header_bytes = text.size();
  return std::string(LittleEndian(std::span(&header_bytes, 1)).text()) + text;
}

}  // namespace trainer
