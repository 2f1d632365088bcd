#include <zlib.h>

#include <cmath>
#include <cstring>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/npy_array.h"
#include "datasets/readers/zip_file.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

/// An npy file of version 1 as numpy writes it, or with a header that a test thought of.
Bytes npy(const std::string& header, const Bytes& content) {
  Bytes bytes = bytes_of("\x93NUMPY");
  bytes.insert(bytes.end(), {1, 0, static_cast<std::uint8_t>(header.size() & 0xff),
                             static_cast<std::uint8_t>(header.size() >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

std::string header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }          \n";
}

template <class Number>
Bytes stored(const std::vector<Number>& numbers) {
  Bytes bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

NpyArray array(const TemporaryDirectory& directory, const Bytes& bytes) {
  return NpyArray(std::make_unique<ByteReader>(directory.write("a.npy", bytes)));
}

std::vector<float> numbers(const TemporaryDirectory& directory, const Bytes& bytes) {
  NpyArray it = array(directory, bytes);
  std::vector<float> values(static_cast<std::size_t>(it.shape().size()));
  it.read(values);
  return values;
}

void append(Bytes& bytes, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
}

void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

struct Member {
  std::string name;
  Bytes content;
};

/// A zip archive with its members stored or deflated; with sizes of 64 bits in the way of numpy's writer.
Bytes zip(const std::vector<Member>& members, bool deflated, bool wide) {
  Bytes bytes, list;
  for (const Member& member : members) {
    Bytes packed = member.content;
    if (deflated) {
      packed = gzipped(member.content);  // its raw stream stands between 10 bytes of header and 8 of trailer
      packed.erase(packed.begin(), packed.begin() + 10);
      packed.resize(packed.size() - 8);
    }
    const std::uint64_t crc = crc32(0, member.content.data(), static_cast<uInt>(member.content.size()));
    const std::uint64_t offset = bytes.size(), none = 0xffffffff;
    Bytes facts;  // which stand before the member and in the list
    append(facts, 20, 2);
    append(facts, 0, 2);
    append(facts, deflated ? 8 : 0, 2);
    append(facts, 0, 4);
    append(facts, crc, 4);
    append(facts, wide ? none : packed.size(), 4);
    append(facts, wide ? none : member.content.size(), 4);
    append(facts, member.name.size(), 2);
    append(facts, wide ? 20 : 0, 2);
    Bytes extra;
    append(extra, 1, 2);
    append(extra, 16, 2);
    append(extra, member.content.size(), 8);
    append(extra, packed.size(), 8);
    append(bytes, 0x04034b50, 4);
    append(bytes, facts);
    append(bytes, bytes_of(member.name));
    if (wide) append(bytes, extra);
    append(bytes, packed);
    append(list, 0x02014b50, 4);
    append(list, 20, 2);
    append(list, facts);
    append(list, 0, 6);  // no comment, disk and attributes
    append(list, 0, 4);
    append(list, offset, 4);
    append(list, bytes_of(member.name));
    if (wide) append(list, extra);
  }
  const std::uint64_t offset = bytes.size();
  append(bytes, list);
  append(bytes, 0x06054b50, 4);
  append(bytes, 0, 4);
  append(bytes, members.size(), 2);
  append(bytes, members.size(), 2);
  append(bytes, list.size(), 4);
  append(bytes, offset, 4);
  append(bytes, 0, 2);
  return bytes;
}

}  // namespace

TEST_CASE("npy arrays of every kind of number read as what they hold", "[npy]") {
  const TemporaryDirectory directory;
  const std::vector<float> expected = {1, 0, 3};
  CHECK(numbers(directory, npy(header("<f4", "3,"), stored<float>({1, 0, 3}))) == expected);
  CHECK(numbers(directory, npy(header("<f8", "3,"), stored<double>({1, 0, 3}))) == expected);
  CHECK(numbers(directory, npy(header("|u1", "3,"), {1, 0, 3})) == expected);
  CHECK(numbers(directory, npy(header("|b1", "3,"), {1, 0, 3})) == expected);
  CHECK(numbers(directory, npy(header("<i8", "3, 1"), stored<std::int64_t>({1, 0, 3}))) == expected);
  CHECK(numbers(directory, npy(header(">i2", "1, 3"), {0, 1, 0, 0, 0, 3})) == expected);
  CHECK(numbers(directory, npy(header("|i1", "1, 3"), {255, 0, 3})) == std::vector<float>{-1, 0, 3});
  CHECK(numbers(directory, npy(header(">f4", "1"), {0x3f, 0x80, 0, 0})) == std::vector<float>{1});
  CHECK(array(directory, npy(header("<u2", "2, 1, 3"), Bytes(12))).shape() == Shape{2, 1, 3});
  CHECK(array(directory, gzipped(npy(header("<f4", ""), Bytes(4)))).shape().rank() == 0);
}

TEST_CASE("a bad npy file is an error that says what is wrong", "[npy]") {
  const TemporaryDirectory directory;
  const Bytes four(4);
  Bytes later = npy(header("|u1", "4"), four);
  later[6] = 4;
  const float none = std::nanf("");
  const auto [name, bytes, message] = GENERATE_COPY(table<std::string, Bytes, std::string>({
      {"text", bytes_of("x,y\n1,2\n3,4\n"), "not an npy file"},
      {"stub", bytes_of("\x93NUMPY"), "only 6 bytes"},
      {"version", later, "version 4"},
      {"long header", Bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 255, 255}, "its header claims 65535"},
      {"objects", npy(header("|O", "4"), four), "npy array of objects"},
      {"fields", npy("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (4,)}", four),
       "type `[`"},
      {"text elements", npy(header("<U1", "1"), four), "type `<U1`"},
      {"complex", npy(header("<c8", "1"), Bytes(8)), "type `<c8`"},
      {"half", npy(header("<f2", "2"), four), "type `<f2`"},
      {"dates", npy(header("<M8[ns]", "1"), Bytes(8)), "another type"},
      {"no width", npy(header("<f", "1"), four), "another type"},
      {"huge width", npy(header("<f99999999999999999999", "1"), four), "another type"},
      {"empty type", npy(header("", "1"), four), "another type"},
      {"Fortran order", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", four),
       "Fortran order"},
      {"seven axes", npy(header("|u1", "1, 1, 1, 1, 1, 1, 4"), four), "7 axes"},
      {"nothing", npy(header("|u1", "0, 4"), {}), "holds nothing"},
      {"negative", npy(header("|u1", "-4"), four), "not what numpy writes"},
      {"overflow", npy(header("|u1", "4000000000, 4000000000, 4000000000"), four), "too large"},
      {"more than 63 bits", npy(header("|u1", "99999999999999999999"), four), "not what numpy writes"},
      {"too short", npy(header("|u1", "5"), four), "truncated"},
      {"too long", npy(header("|u1", "3"), four), "too long"},
      {"no shape", npy("{'descr': '|u1', 'fortran_order': False, }", four), "not what numpy writes"},
      {"shape twice", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'shape': (4,), }", four),
       "not what numpy writes"},
      {"another key", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'x': 1}", four),
       "not what numpy writes"},
      {"no brace", npy("'descr': '|u1'", four), "not what numpy writes"},
      {"text behind", npy(header("|u1", "4") + "x", four), "not what numpy writes"},
      {"NaN", npy(header("<f4", "1"), stored<float>({none})), "a number that is none"},
      {"too large a number", npy(header("<f8", "1"), stored<double>({1e300})), "a number that is none"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &b = bytes] { numbers(directory, b); }),
             Catch::Contains(message) && Catch::Contains("a.npy"));
}

TEST_CASE("arrays make a data set, pixels as x / 255 and channels where they belong", "[npy]") {
  const TemporaryDirectory directory;
  // Two pictures of 2 channels, 1x3: channel c, column x of picture n is 100 n + 10 c + x.
  const Bytes pixels = {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112};
  directory.write("x.npy", npy(header("|u1", "2, 2, 1, 3"), pixels));
  directory.write("y.npy", npy(header("<i8", "2,"), stored<std::int64_t>({0, 4})));
  const std::string path = "\npath: " + directory.path();
  const Data data =
      opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, channels: first}}" + path);
  CHECK(data.train->sample() == Shape{1, 3, 2});
  CHECK(data.train->classes() == 5);
  CHECK(data.train->label(1) == 4);
  const std::vector<float> picture = {100.0f / 255, 110.0f / 255, 101.0f / 255,
                                      111.0f / 255, 102.0f / 255, 112.0f / 255};
  CHECK(read_one(*data.train, 1) == picture);

  directory.write("map.npy", npy(header("|u1", "2, 3, 2"), pixels));
  const Data maps = opened(
      "dataset: {npy: {train_inputs: x.npy, train_targets: map.npy, targets: numbers, "
      "channels: none, test_inputs: x.npy, test_targets: map.npy}}" +
      path);
  CHECK(maps.train->target() == Shape{3, 2, 1});
  CHECK(maps.train->sample() == Shape{2, 1, 3});
  std::vector<float> target(6);
  const std::int64_t second = 1;
  maps.test->read_targets({&second, 1}, {target.data(), {1, 3, 2, 1}});
  CHECK(target == std::vector<float>{100, 101, 102, 110, 111, 112});
}

TEST_CASE("arrays that are streamed read as those in memory do", "[npy]") {
  const TemporaryDirectory directory;
  // Longer than what is read at once, so that rows are read in pieces.
  constexpr std::size_t kNumbers = 2 * 90 * 100;
  std::vector<double> numbers(3 * kNumbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) / 8;
  directory.write("x.npy", npy(header("<f8", "3, 2, 90, 100"), stored(numbers)));
  directory.write("pixels.npy", npy(header("|u1", "3, 2, 2"), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
  directory.write("y.npy", npy(header(">i2", "3"), {0, 1, 0, 2, 0, 0}));
  const auto [arrays, channels] = GENERATE(table<std::string, std::string>({
      {"train_inputs: x.npy, train_targets: y.npy", "first"},
      {"train_inputs: x.npy, train_targets: x.npy, targets: numbers", "first"},
      {"train_inputs: pixels.npy, train_targets: y.npy", "none"},
  }));
  const auto data = [&, &a = arrays, &c = channels](const std::string& more) {
    return opened("dataset: {npy: {" + a + ", channels: " + c + more +
                  "}}\nnormalize: per_channel\npath: " + directory.path());
  };
  const Data streamed = data(", streamed: true"), whole = data("");
  INFO(arrays);
  CHECK(streamed.train->is_streamed());
  CHECK(streamed.train->stored_bytes() == 0);
  CHECK(streamed.train->classes() == whole.train->classes());
  REQUIRE(streamed.train->sample() == whole.train->sample());
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(read_one(*streamed.train, i) == read_one(*whole.train, i));
    if (whole.train->classes() > 0) {
      CHECK(streamed.train->label(i) == whole.train->label(i));
      continue;
    }
    const auto target = [&](const Dataset& dataset) {
      std::vector<float> values(static_cast<std::size_t>(dataset.target().size()));
      dataset.read_targets({&i, 1}, {values.data(), dataset.target().with_front(1)});
      return values;
    };
    CHECK(target(*streamed.train) == target(*whole.train));
  }
}

TEST_CASE("an array that cannot be streamed, or is damaged where it is read, is an error", "[npy]") {
  const TemporaryDirectory directory;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Bytes bytes = npy(header("<f4", "2, 2"), stored<float>({1, 2, none, 4}));
  const std::string settings =
      "dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, streamed: true}}\npath: " +
      directory.path();
  directory.write("y.npy", npy(header("|u1", "2"), {0, 1}));
  const std::string name = GENERATE("x.npy", "x.npy.gz");
  directory.write(name, gzipped(bytes));
  CHECK_THAT(data_error([&] { opened(settings); }),
             Catch::Contains("a packed array cannot be streamed") && Catch::Contains(name));
  directory.write("x.npy", bytes);
  const Data data = opened(settings);
  CHECK(read_one(*data.train, 0) == std::vector<float>{1, 2});
  CHECK_THAT(data_error([&] { read_one(*data.train, 1); }),
             Catch::Contains("element 2 is nan") && Catch::Contains("x.npy"));
  directory.write("x.npy", Bytes(bytes.begin(), bytes.end() - 12));
  CHECK_THAT(data_error([&] { read_one(*data.train, 0); }), Catch::Contains("x.npy"));
}

TEST_CASE("labels may stand for each pixel", "[npy]") {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy(header("|u1", "3, 2, 2, 5"), Bytes(60)));
  directory.write("y.npy", npy(header("|u1", "3, 2, 2"), {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 0, 1}));
  directory.write("turned.npy", npy(header("|u1", "2, 3, 2"), Bytes(12)));
  const std::string path = "\npath: " + directory.path();
  const Data data = opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy}}" + path);
  CHECK(data.train->positions() == 4);
  CHECK(data.train->classes() == 8);
  std::vector<std::int32_t> labels(8);
  const std::vector<std::int64_t> samples = {2, 1};
  data.train->read_labels(samples, labels);
  CHECK(labels == std::vector<std::int32_t>{0, 1, 0, 1, 4, 5, 6, 7});
  CHECK_THAT(
      data_error([&] { opened("dataset: {npy: {train_inputs: x.npy, train_targets: turned.npy}}" + path); }),
      Catch::Contains("differ in number"));
}

TEST_CASE("sequences with padding have lengths, which parts of a set and statistics know", "[npy]") {
  const TemporaryDirectory directory;
  // Five sequences of 3 positions with one number each; padding is 100.
  const std::vector<float> numbers = {1, 2, 3, 1, 100, 100, 2, 2, 100, 3, 3, 3, 1, 3, 100};
  directory.write("x.npy", npy(header("<f4", "5, 3, 1"), stored(numbers)));
  // Targets repeat the lengths.
  directory.write("y.npy", npy(header("<f4", "5, 2"), stored<float>({3, 0, 1, 0, 2, 0, 3, 0, 2, 0})));
  directory.write("lengths.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 1, 2, 3, 2})));
  directory.write("long.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 1, 2, 4, 2})));
  directory.write("empty.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 0, 2, 3, 2})));
  directory.write("few.npy", npy(header("<i4", "4"), stored<std::int32_t>({3, 1, 2, 3})));
  directory.write("labels.npy", npy(header("|u1", "5"), Bytes(5)));
  const auto settings = [&](const std::string& more, const std::string& targets = "y.npy, targets: numbers") {
    return "dataset: {npy: {train_inputs: x.npy, train_targets: " + targets + more +
           "}}\npath: " + directory.path();
  };
  const std::string lengths = ", train_lengths: lengths.npy";
  const auto more = GENERATE("", ", streamed: true");
  const Data data = opened(settings(lengths + more) + "\nvalidation: 0.4\nnormalize: per_channel");
  for (const Dataset* part : {data.train.get(), data.validation.get()}) {
    REQUIRE(part->has_lengths());
    for (std::int64_t i = 0; i < part->size(); ++i) {
      std::vector<float> target(2);
      part->read_targets({&i, 1}, {target.data(), {1, 2}});
      CHECK(static_cast<float>(part->length(i)) == target[0]);
    }
  }
  std::int64_t total = 0;
  double mean = 0;
  for (std::int64_t i = 0; i < data.train->size(); ++i) {
    const std::vector<float> own = read_one(*data.train, i);
    for (std::int64_t t = 0; t < data.train->length(i); ++t) mean += own[static_cast<std::size_t>(t)];
    total += data.train->length(i);
  }
  CHECK(mean / static_cast<double>(total) == Approx(0).margin(1e-6));
  CHECK_FALSE(opened(settings(more)).train->has_lengths());

  const auto error = [&](const std::string& file) {
    return data_error([&] { opened(settings(", train_lengths: " + file + more)); });
  };
  CHECK_THAT(error("long.npy"), Catch::Contains("sample 3 has a length of 4") && Catch::Contains("long.npy"));
  CHECK_THAT(error("empty.npy"), Catch::Contains("sample 1 has a length of 0"));
  CHECK_THAT(error("few.npy"), Catch::Contains("one integer for each of 5 samples, it is 4"));
  CHECK_THAT(error("y.npy"), Catch::Contains("it is 5x2 floats"));
  CHECK_THAT(error("absent.npy"), Catch::Contains("absent.npy"));
  const std::string test = ", test_inputs: x.npy, test_targets: y.npy";
  CHECK_THROWS_WITH(opened(settings(lengths + test)), Catch::Contains("padded alike"));
  CHECK_THROWS_WITH(opened(settings(lengths + ", test_lengths: lengths.npy")),
                    Catch::Contains("padded alike"));
  CHECK_THROWS_WITH(opened(settings(test + ", test_lengths: lengths.npy")), Catch::Contains("padded alike"));
  CHECK_THROWS_WITH(opened(settings(lengths + more, "labels.npy") + "\nmixup: 0.2"),
                    Catch::Contains("samples of several lengths"));
}

TEST_CASE("what is no archive that can be read is an error that says why", "[npz]") {
  const TemporaryDirectory directory;
  const Bytes content(100, 7);
  const Bytes good = zip({{"x.npy", content}}, true, false);
  const std::size_t end = good.size() - 22, list = end - 46 - 5;
  const auto with = [&](std::size_t at, std::uint8_t byte) {
    Bytes bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  const auto [name, bytes, message] = GENERATE_COPY(table<std::string, Bytes, std::string>({
      {"empty", Bytes(), "not a zip archive"},
      {"text", bytes_of("not an archive"), "not a zip archive"},
      {"its list cut off", Bytes(good.begin(), good.end() - 1), "not a zip archive"},
      {"its beginning cut off", Bytes(good.begin() + 9, good.end()), "damaged"},
      {"encrypted", with(list + 8, 1), "encrypted"},
      {"bzip2", with(list + 10, 12), "method 12; stored and deflate are read"},
      {"an entry with another signature", with(list, 'Q'), "entry 1 of its list makes no sense"},
      {"more entries than its list", with(end + 10, 2), "entry 2 of its list makes no sense"},
      {"a list beyond the end", with(end + 19, 1), "lies outside the file"},
      {"a name longer than the list", with(list + 28, 99), "is cut off"},
      {"an entry that is elsewhere", with(list + 42, 3), "not where the list says"},
      {"an entry behind the end", with(list + 43, 99), "lies outside the file"},
      {"a wrong checksum", with(list + 16, static_cast<std::uint8_t>(good[list + 16] ^ 1)),
       "checksum is wrong"},
      {"a size that is too small", with(list + 24, 99), "too long"},
      {"a size that is too large", with(list + 24, 101), "truncated"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &b = bytes] {
               const ZipFile archive(directory.write("a.npz", b));
               const auto entry = archive.open("x.npy");
               Bytes all(static_cast<std::size_t>(entry->size()));
               entry->read(all);
               entry->finish();
             }),
             Catch::Contains(message) && Catch::Contains("a.npz"));
}

TEST_CASE("arrays that do not fit together are an error", "[npy]") {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy(header("|u1", "2, 3"), Bytes(6)));
  directory.write("three.npy", npy(header("|u1", "3"), Bytes(3)));
  directory.write("floats.npy", npy(header("<f4", "2"), Bytes(8)));
  directory.write("negative.npy", npy(header("|i1", "2"), {0, 255}));
  directory.write("y.npy", npy(header("|u1", "2"), {0, 1}));
  directory.write("far.npy", npy(header("|u1", "2"), {0, 2}));
  directory.write("wide.npy", npy(header("|u1", "2, 4"), Bytes(8)));
  directory.write("one.npy", npy(header("|u1", ""), Bytes(1)));
  const auto error = [&](const std::string& settings) {
    return data_error([&] { opened("dataset: {npy: {" + settings + "}}\npath: " + directory.path()); });
  };
  CHECK_THAT(error("train_inputs: x.npy, train_targets: three.npy"),
             Catch::Contains("2 inputs, targets are 3"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: floats.npy"),
             Catch::Contains("does not hold labels"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: x.npy"), Catch::Contains("does not hold labels"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: negative.npy"), Catch::Contains("label 1 is -1"));
  CHECK_THAT(error("train_inputs: one.npy, train_targets: one.npy"), Catch::Contains("a single number"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: y.npy, test_inputs: x.npy, test_targets: far.npy"),
             Catch::Contains("label 1 is 2; the classes are 0 to 1"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: y.npy, test_inputs: wide.npy, test_targets: y.npy"),
             Catch::Contains("4 and scalar here, 3 and scalar in training"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: absent.npy"), Catch::Contains("absent.npy"));
  CHECK_THROWS_AS(opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, test_inputs: x.npy}}"),
                  Error);
}

TEST_CASE("an archive of arrays reads as its files do", "[npz]") {
  const TemporaryDirectory directory;
  const bool deflated = GENERATE(false, true), wide = GENERATE(false, true);
  directory.write("a.npz", zip({{"x.npy", npy(header("<f4", "2, 2"), stored<float>({1, 2, 3, 4}))},
                                {"y.npy", npy(header("|u1", "2"), {1, 0})}},
                               deflated, wide));
  const Data data =
      opened("dataset: {npz: {file: a.npz, train_inputs: x, train_targets: y}}\npath: " + directory.path());
  CHECK(data.train->sample() == Shape{2});
  CHECK(data.train->label(0) == 1);
  CHECK(read_one(*data.train, 1) == std::vector<float>{3, 4});
  CHECK_THAT(
      data_error([&] {
        opened("dataset: {npz: {file: a.npz, train_inputs: z, train_targets: y}}\npath: " + directory.path());
      }),
      Catch::Contains("no such entry") && Catch::Contains("z.npy"));
}

TEST_CASE("no damage to an archive passes unseen", "[npz]") {
  const TemporaryDirectory directory;
  const bool deflated = GENERATE(false, true);
  const Bytes content = npy(header("<f4", "2, 2"), stored<float>({1, 2, 3, 4}));
  const Bytes good = zip({{"x.npy", content}}, deflated, deflated);
  const auto read_all = [&](const std::string& path) {
    const ZipFile archive(path);
    for (const ZipFile::Entry& entry : archive.entries()) {
      NpyArray it(archive.open(entry.name));
      std::vector<float> values(static_cast<std::size_t>(it.shape().size()));
      it.read(values);
    }
  };
  CHECK_NOTHROW(read_all(directory.write("a.npz", good)));
  for (std::size_t position = 0; position < good.size(); ++position) {
    Bytes bad = good;
    bad[position] ^= 0x10;
    const std::string path = directory.write("a.npz", bad);
    try {
      read_all(path);  // names, dates and versions carry no data
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
    }
  }
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::string path =
        directory.write("a.npz", Bytes(good.begin(), good.begin() + static_cast<long>(length)));
    INFO("length " << length);
    CHECK_THROWS_AS(read_all(path), Error);
  }
  const std::size_t middle = 30 + 5 + (deflated ? 20 : 0) + content.size() / 4;
  Bytes bad = good;
  bad[middle] ^= 1;
  CHECK_THROWS_AS(read_all(directory.write("a.npz", bad)), Error);
}

TEST_CASE("an archive cannot promise more than its size can hold", "[npz]") {
  const TemporaryDirectory directory;
  Bytes liar = zip({{"x.npy", Bytes(100)}}, true, false);
  // The unpacked size in the list, 24 bytes behind its signature.
  const std::size_t list = liar.size() - 22 - 46 - 5;
  for (std::size_t i = 0; i < 4; ++i) liar[list + 24 + i] = 0x7f;
  CHECK_THAT(data_error([&] { ZipFile(directory.write("a.npz", liar)); }),
             Catch::Contains("more bytes than the file can hold"));
}

}  // namespace trainer
