#include "datasets/readers/npy_array.h"

#include "datasets/readers/byte_reader.h"
#include "tests/datasets/readers/npy_files.h"

namespace trainer {
namespace {

NpyArray array(const TemporaryDirectory& directory, const Bytes& bytes) {
  return NpyArray(std::make_unique<ByteReader>(directory.write("a.npy", bytes)));
}

std::vector<float> values_of(const TemporaryDirectory& directory, const Bytes& bytes) {
  NpyArray it = array(directory, bytes);
  std::vector<float> values(static_cast<std::size_t>(it.shape().size()));
  it.read(values);
  return values;
}

}  // namespace

TEST_CASE("npy arrays of every kind of number read as what they hold", "[npy]") {
  const TemporaryDirectory directory;
  const std::vector<float> expected = {1, 0, 3};
  CHECK(values_of(directory, npy(header("<f4", "3,"), stored<float>({1, 0, 3}))) == expected);
  CHECK(values_of(directory, npy(header("<f8", "3,"), stored<double>({1, 0, 3}))) == expected);
  CHECK(values_of(directory, npy(header("<f2", "3,"), {0, 0x3c, 0, 0, 0, 0x42})) == expected);
  CHECK(values_of(directory, npy(header("|u1", "3,"), {1, 0, 3})) == expected);
  CHECK(values_of(directory, npy(header("|b1", "3,"), {1, 0, 3})) == expected);
  CHECK(values_of(directory, npy(header("<i8", "3, 1"), stored<std::int64_t>({1, 0, 3}))) == expected);
  CHECK(values_of(directory, npy(header(">i2", "1, 3"), {0, 1, 0, 0, 0, 3})) == expected);
  CHECK(values_of(directory, npy(header("|i1", "1, 3"), {255, 0, 3})) == std::vector<float>{-1, 0, 3});
  CHECK(values_of(directory, npy(header(">f4", "1"), {0x3f, 0x80, 0, 0})) == std::vector<float>{1});
  CHECK(array(directory, npy(header("<u2", "2, 1, 3"), Bytes(12))).shape() == Shape{2, 1, 3});
  CHECK(array(directory, gzipped(npy(header("<f4", ""), Bytes(4)))).shape().rank() == 0);
}

TEST_CASE("a bad npy file is an error that names what is wrong", "[npy]") {
  const TemporaryDirectory directory;
  const Bytes four(4);
  Bytes later = npy(header("|u1", "4"), four);
  later[6] = 4;
  const float none = std::nanf("");
  const auto [name, bytes, message] = GENERATE_COPY(table<std::string, Bytes, std::string>({
      {"text", bytes_of("x,y\n1,2\n3,4\n"), "not an npy file"},
      {"beginning", bytes_of("\x93NUMPY"), "only 6 bytes"},
      {"version", later, "version 4"},
      {"long header", Bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 255, 255}, "its header claims 65535"},
      {"objects", npy(header("|O", "4"), four), "npy array of objects"},
      {"fields", npy("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (4,)}", four),
       "type `[`"},
      {"text elements", npy(header("<U1", "1"), four), "type `<U1`"},
      {"complex", npy(header("<c8", "1"), Bytes(8)), "type `<c8`"},
      {"dates", npy(header("<M8[ns]", "1"), Bytes(8)), "another type"},
      {"no width", npy(header("<f", "1"), four), "another type"},
      {"huge width", npy(header("<f99999999999999999999", "1"), four), "another type"},
      {"empty type", npy(header("", "1"), four), "another type"},
      {"Fortran order", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", four),
       "Fortran order"},
      {"seven axes", npy(header("|u1", "1, 1, 1, 1, 1, 1, 4"), four), "7 axes"},
      {"nothing", npy(header("|u1", "0, 4"), {}), "holds nothing"},
      {"negative", npy(header("|u1", "-4"), four), "its header is not valid"},
      {"overflow", npy(header("|u1", "4000000000, 4000000000, 4000000000"), four), "too large"},
      {"more than 63 bits", npy(header("|u1", "99999999999999999999"), four), "its header is not valid"},
      {"too short", npy(header("|u1", "5"), four), "truncated"},
      {"too long", npy(header("|u1", "3"), four), "too long"},
      {"no shape", npy("{'descr': '|u1', 'fortran_order': False, }", four), "its header is not valid"},
      {"shape twice", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'shape': (4,), }", four),
       "its header is not valid"},
      {"another key", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'x': 1}", four),
       "its header is not valid"},
      {"no brace", npy("'descr': '|u1'", four), "its header is not valid"},
      {"text behind", npy(header("|u1", "4") + "x", four), "its header is not valid"},
      {"NaN", npy(header("<f4", "1"), stored<float>({none})), "a value that is not finite"},
      {"too large a number", npy(header("<f8", "1"), stored<double>({1e300})), "a value that is not finite"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &b = bytes] { values_of(directory, b); }),
             Catch::Contains(message) && Catch::Contains("a.npy"));
}

}  // namespace trainer
