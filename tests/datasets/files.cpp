#include "tests/datasets/files.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "engine/config/config_tree.h"

namespace trainer {

std::string TemporaryDirectory::write(std::string_view name, const Bytes& bytes) const {
  const std::filesystem::path file = path(name);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(out.good());
  return file.string();
}

Bytes gzipped(const Bytes& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, bytes.size()) + 32);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

Bytes idx_bytes(std::initializer_list<std::uint32_t> extents, const Bytes& elements, std::uint8_t type) {
  Bytes bytes = {0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Data opened(const std::string& settings, std::uint64_t seed, bool with_samples) {
  std::string yaml = "data:\n";
  for (std::size_t first = 0; first < settings.size();) {
    const std::size_t end = std::min(settings.find('\n', first), settings.size());
    yaml += "  " + settings.substr(first, end - first) + "\n";
    first = end + 1;
  }
  const ConfigTree tree({.file = "run.yaml", .text = yaml}, {section("data", "the data", data_settings())});
  Data data = open_data(tree.root().at("data"), seed);
  if (with_samples) load_samples(data, *solo());
  return data;
}

std::vector<float> read_one(const Dataset& dataset, std::int64_t index) {
  std::vector<float> elements(static_cast<std::size_t>(dataset.sample().size()));
  dataset.read({&index, 1}, {elements.data(), dataset.sample().with_front(1)});
  return elements;
}

std::vector<float> targets_of(const Dataset& dataset, std::int64_t index) {
  std::vector<float> values(dataset.target().size());
  dataset.read_targets({&index, 1}, {values.data(), dataset.target().with_front(1)});
  return values;
}

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace trainer
