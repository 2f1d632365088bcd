#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "datasets/inputs/input_samples.h"
#include "datasets/readers/hdf5_dataset.h"
#include "datasets/readers/npy_array.h"
#include "engine/system/files.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

/// A file that HDF5's own library wrote; tests/fuzz/make_corpus.py holds them. Empty if the tests do not run
/// by Meson.
Bytes written_by_hdf5(const std::string& name) {
  const char* const folder = std::getenv("TRAINER_HDF5_FILES");
  if (folder == nullptr) return {};
  return bytes_of(read_file(std::string(folder) + '/' + name, ExitCode::data, 1 << 20));
}

std::vector<float> values_of(const std::string& path, const std::string& name) {
  NpyArray array(hdf5_stream(path, name));
  std::vector<float> values(static_cast<std::size_t>(array.shape().size()));
  array.read(values);
  return values;
}

Shape shape_of(const std::string& path, const std::string& name) {
  return NpyArray(hdf5_stream(path, name)).shape();
}

/// 0, 0.25, 0.5, ...
std::vector<float> quarters(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) / 4;
  return values;
}

/// Numbers as HDF5 stores them, one after the other.
template <class Number>
Bytes little(std::initializer_list<Number> numbers) {
  Bytes bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.begin(), bytes.size());
  return bytes;
}

/// Where `pattern` begins for the first time.
std::size_t place_of(const Bytes& bytes, const Bytes& pattern) {
  const auto found = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
  REQUIRE(found != bytes.end());
  return static_cast<std::size_t>(found - bytes.begin());
}

Bytes with(Bytes bytes, std::size_t at, const Bytes& other) {
  std::ranges::copy(other, bytes.begin() + static_cast<long>(at));
  return bytes;
}

}  // namespace

TEST_CASE("datasets of HDF5 files read as what was written", "[hdf5]") {
  const TemporaryDirectory directory;
  if (written_by_hdf5("plain").empty()) return;
  const std::string plain = directory.write("plain.h5", written_by_hdf5("plain"));
  const std::vector<float> labels = {0, 1, 2, 1, 0, 2};
  CHECK(values_of(plain, "train/x") == quarters(36));
  CHECK(shape_of(plain, "/train/x") == Shape{6, 3, 2});
  CHECK(values_of(plain, "train/y") == labels);
  CHECK(values_of(plain, "half") == std::vector<float>{1, -2, 0.5f});
  CHECK(values_of(plain, "big") == std::vector<float>{1, 2, 3, -4});
  CHECK(values_of(plain, "flag") == std::vector<float>{1, 0});
  CHECK(Hdf5File(plain).datasets() == std::vector<std::string>{"big", "flag", "half", "train/x", "train/y"});

  const std::string chunks = directory.write("chunks.h5", written_by_hdf5("chunks"));
  CHECK(values_of(chunks, "train/x") == quarters(36));
  CHECK(values_of(chunks, "train/y") == labels);
  const std::string links = directory.write("links.h5", written_by_hdf5("links"));
  CHECK(values_of(links, "x") == quarters(36));
  CHECK(values_of(links, "small") == std::vector<float>{1, 2, 3});
  CHECK(values_of(directory.write("user.h5", written_by_hdf5("user")), "x") == labels);
  CHECK(values_of(directory.write("latest.h5", written_by_hdf5("latest")), "y") == labels);
  // The checksum of bytes that are all 255 is a multiple of 65535.
  CHECK(values_of(directory.write("white.h5", written_by_hdf5("white")), "x") ==
        std::vector<float>(128, 255));
}

TEST_CASE("an HDF5 file is a set of samples, in memory or streamed", "[hdf5]") {
  const TemporaryDirectory directory;
  const std::string name = GENERATE("plain", "chunks"), more = GENERATE("", ", streamed: true");
  if (written_by_hdf5(name).empty()) return;
  directory.write("a.h5", written_by_hdf5(name));
  const std::string settings = "dataset: {hdf5: {file: a.h5, train_inputs: train/x, train_targets: ";
  const std::string path = "}}\npath: " + directory.path();
  const Data data = opened(settings + "/train/y" + more + path);
  CHECK(data.name == "hdf5");
  CHECK(data.train->size() == 6);
  CHECK(data.train->sample() == Shape{3, 2});
  CHECK(data.train->classes() == 3);
  CHECK(data.train->label(2) == 2);
  CHECK(data.train->info().is_streamed == !more.empty());
  CHECK((data.train->stored_bytes() == 0) == !more.empty());
  for (std::int64_t i = 5; i >= 0; --i)
    for (std::size_t j = 0; j < 6; ++j)
      CHECK(read_one(*data.train, i)[j] == static_cast<float>(i * 6 + static_cast<std::int64_t>(j)) / 4);
  CHECK(opened(settings + "train/x, targets: numbers" + more + path).train->target() == Shape{3, 2});
  CHECK_THAT(data_error([&] { opened(settings + "train/z" + path); }),
             Catch::Contains("no dataset `train/z`") && Catch::Contains("train/x and train/y"));
  CHECK_THAT(data_error([&] { opened(settings + "train/x" + path); }),
             Catch::Contains("does not hold labels"));
}

TEST_CASE("the rows of an HDF5 dataset are inputs of predict", "[hdf5]") {
  const TemporaryDirectory directory;
  if (written_by_hdf5("chunks").empty()) return;
  const std::string path = directory.write("a", written_by_hdf5("chunks"));
  const DataDescription data{.info = {.sample = {3, 2}}, .form = {.array = "train/x"}};
  const auto source = input_samples({path}, data, {});
  std::vector<float> values(36);
  RawSample sample;
  for (std::size_t row = 0; row < 6; ++row) {
    REQUIRE(source->next(sample, true) == SampleSource::Next::sample);
    REQUIRE(sample.bytes.size() == 6 * sizeof(float));
    std::memcpy(values.data() + row * 6, sample.bytes.data(), sample.bytes.size());
  }
  CHECK(values == quarters(36));
  CHECK(source->next(sample, true) == SampleSource::Next::end);
  CHECK_THROWS_WITH(input_samples({path}, data, {.array = "z"})->next(sample, true),
                    Catch::Contains("holds no array `z`"));
  const Bytes bytes = written_by_hdf5("chunks");
  const std::string cut = directory.write("cut", Bytes(bytes.begin(), bytes.begin() + 2000));
  REQUIRE(input_samples({cut}, data, {})->next(sample, true) == SampleSource::Next::sample);
  CHECK(sample.problem.find("truncated") != std::string::npos);
}

TEST_CASE("forms of HDF5 that are not read are errors that name them", "[hdf5]") {
  const TemporaryDirectory directory;
  if (written_by_hdf5("others").empty()) return;
  const std::string others = directory.write("others.h5", written_by_hdf5("others"));
  const auto [name, message] = GENERATE(table<std::string, std::string>({
      {"text", "type variable length"},
      {"pairs", "type compound"},
      {"unwritten", "was never written"},
      {"part", "some of its chunks are missing"},
      {"lzf", "filter lzf; gzip, shuffle and fletcher32 are read"},
      {"elsewhere", "in other files"},
      {"empty", "holds nothing"},
      {"nan", "element 1 is nan"},
      {"", "HDF5 group, not a dataset"},
      {"none", "no dataset `none`"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &n = name] { values_of(others, n); }),
             Catch::Contains(message) && Catch::Contains("others.h5"));
  const std::string links = directory.write("links.h5", written_by_hdf5("links"));
  CHECK_THAT(data_error([&] { values_of(links, "soft"); }), Catch::Contains("a link to another place"));
  const std::string latest = directory.write("latest.h5", written_by_hdf5("latest"));
  CHECK_THAT(data_error([&] { values_of(latest, "x"); }), Catch::Contains("layout 4"));
}

TEST_CASE("damage to an HDF5 file is an error with the reason", "[hdf5]") {
  const TemporaryDirectory directory;
  const Bytes good = written_by_hdf5("chunks");
  if (good.empty()) return;
  const Bytes far = little<std::uint64_t>({std::uint64_t{1} << 60});
  const std::size_t group = place_of(good, bytes_of("TREE")), names = place_of(good, bytes_of("HEAP")),
                    entries = place_of(good, bytes_of("SNOD")),
                    index = place_of(good, {'T', 'R', 'E', 'E', 1}),
                    shape = place_of(good, little<std::uint64_t>({6, 3, 2})),
                    chunk = place_of(good, little<std::uint32_t>({4, 2, 2, 4})),
                    filters = place_of(good, bytes_of("shuffle")) - 8;
  const std::size_t data = static_cast<std::size_t>(good[index + 64] | good[index + 65] << 8);
  const auto [name, bytes, message] = GENERATE_COPY(table<std::string, Bytes, std::string>({
      {"text", bytes_of("not an HDF5 file"), "an HDF5 file begins with"},
      {"a wrong signature", with(good, 3, {'f'}), "an HDF5 file begins with"},
      {"its signature alone", Bytes(good.begin(), good.begin() + 8), "an HDF5 file begins with"},
      {"its superblock alone", Bytes(good.begin(), good.begin() + 96), "lie outside of its 96 bytes"},
      {"another version", with(good, 8, {9}), "superblock 9"},
      {"short addresses", with(good, 13, {4}), "of 4 bytes"},
      {"no root", with(good, 64, far), "lie outside"},
      {"a root in the middle", with(good, 64, {99}), "damaged"},
      {"no tree of a group", with(good, group, {'t'}), "no node of a group"},
      {"another tree", with(good, group + 4, {1}), "no node of a group"},
      {"a tree in itself", with(with(good, group + 5, {1}), group + 32, little<std::uint64_t>({group})),
       "contains itself"},
      {"a large tree", with(good, group + 6, {255, 255}), "damaged"},
      {"a tree without members", with(good, group + 32, little<std::uint64_t>({names})),
       "no members of a group"},
      {"no names", with(good, names, {'h'}), "a group has no names"},
      {"names elsewhere", with(good, names + 24, far), "lie outside"},
      {"endless names", with(good, names + 8, far), "claims"},
      {"no members", with(good, entries, {'s'}), "no members of a group"},
      {"many members", with(good, entries + 6, {255, 255}), "damaged"},
      {"a member without a name", with(good, entries + 8, far), "a member of a group has no name"},
      {"a member elsewhere", with(good, entries + 16, far), "lie outside"},
      {"an extent of 0", with(good, shape, {0}), "holds nothing"},
      {"many samples", with(good, shape, {255, 255, 255}), "more chunks than the file can hold"},
      {"endless samples", with(good, shape, far), "claims more than"},
      {"more samples", with(good, shape, {9}), "some of its chunks are missing"},
      {"a chunk of nothing", with(good, chunk, {0}), "its chunks are not valid"},
      {"a chunk of 4 GiB", with(good, chunk, {0, 0, 0, 64}), "its chunks are not valid"},
      {"a larger chunk", with(good, chunk + 4, {9}), "damaged"},
      {"other elements", with(good, chunk + 12, {8}), "its chunks have other elements"},
      {"another rank", with(good, chunk - 9, {3}), "its chunks have another rank"},
      {"no index", with(good, chunk - 8, Bytes(8, 255)), "was never written"},
      {"an index elsewhere", with(good, chunk - 8, far), "lie outside"},
      {"another index", with(good, index + 4, {0}), "no index of chunks"},
      {"an index in itself", with(with(good, index + 5, {1}), index + 64, little<std::uint64_t>({index})),
       "index of its chunks"},
      {"a large index", with(good, index + 6, {255, 255}), "damaged"},
      {"a large chunk", with(good, index + 24, {255, 255, 255, 255}),
       "a chunk of 64 bytes in 4294967295 bytes"},
      {"an empty chunk", with(good, index + 24, {0}), "damaged"},
      {"a chunk elsewhere", with(good, index + 64, far), "a chunk of 64 bytes"},
      {"a chunk that is none of the dataset's", with(good, index + 32, {99}),
       "some of its chunks are missing"},
      {"another filter", with(good, filters, {5}), "filter nbit"},
      {"many filters", with(good, filters - 7, {99}), "its filters are not valid"},
      {"a wrong byte of a chunk", with(good, data + 5, {static_cast<std::uint8_t>(good[data + 5] ^ 1)}),
       "the checksum of the chunk"},
      {"a wrong byte, not checked", with(with(good, data, {0}), index + 28, {4}), "cannot be unpacked"},
      {"a chunk that is not packed", with(good, index + 28, {3}), "bytes, not 64"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &b = bytes] { values_of(directory.write("a.h5", b), "train/x"); }),
             Catch::Contains(message) && Catch::Contains("a.h5"));
}

TEST_CASE("no wrong byte of an HDF5 file and no early end does worse than an error", "[hdf5]") {
  const TemporaryDirectory directory;
  const std::string file = GENERATE("plain", "chunks", "links");
  const Bytes good = written_by_hdf5(file);
  constexpr std::size_t kStep = 5;
  for (std::size_t position = 0; position < good.size(); position += kStep) {
    Bytes bad = good;
    bad[position] = static_cast<std::uint8_t>(bad[position] ^ 1 << position % 8);
    if (position % 3 == 0) bad.resize(position);
    const std::string path = directory.write("a.h5", bad);
    try {
      for (const std::string& name : Hdf5File(path).datasets()) values_of(path, name);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
    }
  }
}

}  // namespace trainer
