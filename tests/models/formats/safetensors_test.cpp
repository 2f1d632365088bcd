#include "models/formats/safetensors.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/little_endian.h"
#include "engine/system/files.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

using Catch::Matchers::Contains;

/// A file's bytes: the length of the header, the header, then `data_bytes` zeros.
std::string file_bytes(const std::string& header, std::size_t data_bytes) {
  std::string bytes;
  for (int byte = 0; byte < 8; ++byte) bytes += static_cast<char>(header.size() >> (8 * byte) & 255);
  return bytes + header + std::string(data_bytes, '\0');
}

/// Reads `bytes` from a file and returns the message that this ends with.
std::string rejection(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "hostile.safetensors";
  write_file(path, bytes);
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::weights);
    CHECK_THAT(error.what(), Contains(path.string()));
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("tensors and metadata come back as they were written, in the same order", "[export]") {
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), -3.5f);
  const std::vector<NamedView> written{{"conv1.weight", ConstTensor(numbers.data(), {2, 3, 2, 2})},
                                       {"a \"name\" with \xC3\xA9", ConstTensor(numbers.data() + 4, {5})},
                                       {"steps", ConstTensor(numbers.data(), {})},
                                       {"none", ConstTensor(numbers.data(), {0, 7})}};
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"step", "12"}};
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", written, metadata);
  const TensorFile file = read_safetensors(folder.path() / "a");

  CHECK(file.metadata == metadata);
  REQUIRE(file.tensors.size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string& name = file.tensors[i].name;
    const auto& original = *std::ranges::find(written, name, &NamedView::name);
    CHECK(file.tensors[i].shape == original.values.shape());
    CHECK(std::ranges::equal(file.tensors[i].values, original.values.span()));
    if (original.values.size() > 0) CHECK(name == written[i].name);
  }
}

TEST_CASE("the bytes of a written file are those that the format prescribes", "[export]") {
  const float numbers[] = {1.0f, -2.0f};
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", std::vector<NamedView>{{"b", ConstTensor(numbers, {2})}});
  const std::string header = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string expected = file_bytes(header + std::string(8 - header.size() % 8, ' '), 0);
  expected += std::string("\0\0\x80\x3F\0\0\0\xC0", 8);
  CHECK(read_file(folder.path() / "a", ExitCode::weights, 1000) == expected);
}

TEST_CASE("keys in any order and white space are read", "[export]") {
  const TemporaryFolder folder;
  write_file(folder.path() / "a",
             file_bytes(R"({ "late": {"data_offsets": [8, 12], "dtype": "F32", "shape": []},
                             "early": {"shape": [1, 2], "dtype": "F32", "data_offsets": [0, 8]} }   )",
                        12));
  const TensorFile file = read_safetensors(folder.path() / "a");
  REQUIRE(file.tensors.size() == 2);
  CHECK(file.tensors[0].name == "early");
  CHECK(file.tensors[1].shape == Shape{});
}

TEST_CASE("a header that breaks the format is refused with the reason", "[export]") {
  const auto [header, data_bytes, reason] = GENERATE(table<std::string, std::size_t, std::string>({
      {R"({"a":{"dtype":"F8","shape":[4],"data_offsets":[0,4]}})", 4, "only F32, F16, BF16 and F64"},
      {R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}})", 8, "do not take 8"},
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4, "dtype"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "the file has 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "the file has 4"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "do not take 8"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "begins at byte 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
       12, "begins at byte 8"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       4, "begins at byte 0"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8, "is a duplicate"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "is a duplicate"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "pair"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 8, "pair"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4.0]}})", 4, "pair"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4, "shape"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "larger"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4, "larger"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, "more than 6"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 0, "data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", 4, "no more"},
      {R"({"a":[]})", 0, "out of place"},
      {R"({"a":null})", 0, "dtype"},
      {R"({"__metadata__":{"a":1}})", 0, "not a text"},
      {R"({"__metadata__":1})", 0, "not a map"},
      {R"([1])", 0, "out of place"},
      {R"(12)", 0, "not a JSON object"},
      {R"({"a":)", 0, "header"},
      {R"({} {})", 0, "header"},
      {"{\"\xFF\":{}}", 0, "header"},
      {"", 0, "header"},
  }));
  CAPTURE(header);
  CHECK_THAT(rejection(file_bytes(header, data_bytes)), Contains(reason));
}

TEST_CASE("a file too short for what it announces is refused", "[export]") {
  const std::string whole = file_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(rejection(whole.substr(0, length)) != "accepted");
  CHECK_THAT(rejection(std::string(16, '\xFF')), Contains("not a safetensors file"));
}

TEST_CASE("deep nesting and endless lists are refused before they are built", "[export]") {
  CHECK_THAT(rejection(file_bytes(std::string(1'000'000, '['), 0)), Contains("out of place"));
  std::string deep;
  for (int level = 0; level < 100'000; ++level) deep += R"({"a":)";
  CHECK_THAT(rejection(file_bytes(deep, 0)), Contains("nested too deeply"));
  std::string wide = R"({"a":{"shape":[1)";
  for (int item = 0; item < 100'000; ++item) wide += ",1";
  CHECK_THAT(rejection(file_bytes(wide + "]}}", 0)), Contains("more than 6"));
}

TEST_CASE("the counters of PyTorch's batch normalisation are left out, other integers refused", "[export]") {
  const std::string weight = R"("bn.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  const auto read = [&](const std::string& name, const std::string& shape = "[]") {
    return rejection(file_bytes(
        "{\"" + name + R"(":{"dtype":"I64","shape":)" + shape + R"(,"data_offsets":[0,8]},)" + weight, 16));
  };
  CHECK(read("bn.num_batches_tracked") == "accepted");
  CHECK(read("num_batches_tracked") == "accepted");
  CHECK_THAT(read("bn.steps"), Contains("\"I64\", only F32, F16, BF16 and F64 are supported"));
  CHECK_THAT(read("bn.num_batches_tracked", "[2]"), Contains("2 I64 elements do not take 8 bytes"));

  const TemporaryFolder folder;
  write_file(
      folder.path() / "a",
      file_bytes(R"({"num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)" + weight, 16));
  const TensorFile file = read_safetensors(folder.path() / "a");
  REQUIRE(file.tensors.size() == 1);
  CHECK(file.tensors[0].name == "bn.weight");
}

TEST_CASE("narrow and wide floats are read as the values that they stand for", "[export]") {
  const auto little_endian = [](const std::vector<std::uint16_t>& words) {
    std::string bytes;
    for (const std::uint16_t word : words)
      for (const int byte : {word & 255, word >> 8}) bytes += static_cast<char>(byte);
    return bytes;
  };
  const std::vector<std::uint16_t> halves{0x3c00, 0xc100, 0x7bff, 0x0400, 0x0001,
                                          0x83ff, 0x8000, 0x7c00, 0x7e00};
  const std::vector<std::uint16_t> brains{0x3f80, 0xc020, 0x7f7f, 0x0080, 0x8000, 0x7f80};
  const std::vector<double> wide{1.5, 1e-3};
  std::string bytes = file_bytes(R"({"half":{"dtype":"F16","shape":[9],"data_offsets":[0,18]},)"
                                 R"("brain":{"dtype":"BF16","shape":[2,3],"data_offsets":[18,30]},)"
                                 R"("wide":{"dtype":"F64","shape":[2],"data_offsets":[30,46]}})",
                                 0) +
                      little_endian(halves) + little_endian(brains);
  bytes += LittleEndian(wide).text();
  const TemporaryFolder folder;
  write_file(folder.path() / "a", bytes);
  const TensorFile file = read_safetensors(folder.path() / "a");
  REQUIRE(file.tensors.size() == 3);
  const std::vector<float>& half = file.tensors[0].values;
  REQUIRE(half.size() == 9);
  CHECK(std::isnan(half.back()));
  CHECK(std::signbit(half[6]));
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(std::vector<float>(half.begin(), half.end() - 1) ==
        std::vector<float>{1, -2.5, 65504, 0x1p-14f, 0x1p-24f, -1023 * 0x1p-24f, -0.0f, infinite});
  CHECK(file.tensors[1].shape == Shape{2, 3});
  CHECK(file.tensors[1].values == std::vector<float>{1, -2.5, 0x1.fep127f, 0x1p-126f, -0.0f, infinite});
  CHECK(file.tensors[2].values == std::vector<float>{1.5, 1e-3f});
}

TEST_CASE("tensors of integers are listed for those who ask for them", "[export]") {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", file_bytes(R"({"mask":{"dtype":"BOOL","shape":[2,2],"data_offsets":[0,4]},)"
                                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                             8));
  std::vector<OtherTensor> others;
  CHECK(read_safetensors(folder.path() / "a", &others).tensors.size() == 1);
  REQUIRE(others.size() == 1);
  CHECK(others[0].name == "mask");
  CHECK(others[0].shape == Shape{2, 2});
  CHECK(others[0].type == "BOOL");
  CHECK_THROWS_WITH(read_safetensors(folder.path() / "a"), Contains("tensor \"mask\""));
}

TEST_CASE("one changed byte anywhere is either refused or still a whole file", "[export]") {
  const std::string whole =
      file_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],)"
                 R"("data_offsets":[8,12]}})",
                 12);
  const TemporaryFolder folder;
  const auto path = folder.path() / "changed";
  int accepted = 0;
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char change : {'\x01', '\x10', '\x80'}) {
      std::string bytes = whole;
      bytes[place] = static_cast<char>(bytes[place] ^ change);
      write_file(path, bytes);
      try {
        std::size_t numbers = 0;
        for (const NamedTensor& tensor : read_safetensors(path).tensors) numbers += tensor.values.size();
        CHECK(numbers == 3);
        ++accepted;
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::weights);
      }
    }
  }
  CHECK(accepted >= 36);  // changes of the numbers themselves
}

}  // namespace trainer
