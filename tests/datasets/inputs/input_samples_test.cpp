#include "datasets/inputs/input_samples.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "datasets/inputs/input_text.h"
#include "datasets/inputs/sample_decoder.h"
#include "datasets/inputs/text_samples.h"
#include "datasets/readers/tokenizers.h"
#include "engine/system/files.h"
#include "tests/datasets/readers/npy_files.h"
#include "tests/support/images.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

using Next = SampleSource::Next;

DataDescription table() {
  return {.name = "csv", .info = {.sample = {2}}, .form = {.has_pixels = false, .header = 0}};
}

std::vector<RawSample> all_of(SampleSource& source) {
  std::vector<RawSample> samples;
  RawSample sample;
  while (source.next(sample, true) == Next::sample) samples.push_back(sample);
  return samples;
}

std::vector<float> floats_of(const RawSample& sample) {
  std::vector<float> values(sample.bytes.size() / sizeof(float));
  std::memcpy(values.data(), sample.bytes.data(), sample.bytes.size());
  return values;
}

std::vector<RawSample> samples_of(const TemporaryFolder& folder, const Bytes& content,
                                  const DataDescription& data) {
  const std::string path = (folder.path() / "input").string();
  write_file(path, {reinterpret_cast<const char*>(content.data()), content.size()});
  return all_of(*input_samples({path}, data, {}));
}

/// A pipe of which this test is the writer.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_) == 0); }
  ~Pipe() {
    close();
    ::close(ends_[0]);
  }
  void write(const std::string& text) const {
    REQUIRE(::write(ends_[1], text.data(), text.size()) == std::ssize(text));
  }
  void close() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  int reader() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

TEST_CASE("records of a table are samples with their lines, and damaged ones do not hide others", "[data]") {
  const TemporaryFolder folder;
  const auto samples = samples_of(folder,
                                  bytes_of("\xEF\xBB\xBF"
                                           "1,2\r\n3,4\n\n\"5,\n6\n7,\"8\"\n9,1\"0\n11,12"),
                                  table());
  REQUIRE(samples.size() == 6);
  CHECK(floats_of(samples[0]) == std::vector<float>{1, 2});
  CHECK(floats_of(samples[1]) == std::vector<float>{3, 4});
  CHECK(samples[1].place == 2);
  CHECK(samples[2].problem.find("input:3: 1 field") != std::string::npos);
  CHECK_FALSE(samples[3].problem.empty());  // a quote that is closed in another line
  CHECK(samples.back().place == 8);
  CHECK(floats_of(samples.back()) == std::vector<float>{11, 12});
}

TEST_CASE("a quote that nothing closes costs its line alone", "[data]") {
  const TemporaryFolder folder;
  const auto samples = samples_of(folder, bytes_of("1,2\n\"3,4\n5,6\n"), table());
  REQUIRE(samples.size() == 3);
  CHECK(samples[1].problem.find("input:2: a quote is not closed") != std::string::npos);
  CHECK(floats_of(samples[2]) == std::vector<float>{5, 6});
  CHECK(samples[2].place == 3);
}

TEST_CASE("rows of an array are samples, and a value that is not finite costs its row alone", "[data]") {
  const TemporaryFolder folder;
  const auto samples = samples_of(
      folder, npy(header("<f8", "3, 2"), stored(std::vector<double>{1, 2, 3, 1e300, 5, 6})), table());
  REQUIRE(samples.size() == 3);
  CHECK(floats_of(samples[0]) == std::vector<float>{1, 2});
  CHECK(samples[1].problem.find("input[1]: element 3 is 1e+300") != std::string::npos);
  CHECK(floats_of(samples[2]) == std::vector<float>{5, 6});
  CHECK(floats_of(
            samples_of(folder, npy(header("<f4", "2,"), stored(std::vector<float>{7, 8})), table()).at(0)) ==
        std::vector<float>{7, 8});
  const auto cut = samples_of(folder, npy(header("<f4", "3, 2"), stored(std::vector<float>{7, 8})), table());
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].problem.find("truncated") != std::string::npos);
  CHECK_THROWS_WITH(
      samples_of(folder, npy(header("<f4", "1, 3"), stored(std::vector<float>{1, 2, 3})), table()),
      Catch::Contains("the model takes samples 2"));
}

TEST_CASE("bytes of an array are pixels, channels come where training had them", "[data]") {
  const TemporaryFolder folder;
  DataDescription images{.info = {.sample = {1, 2, 3}}, .form = {.channels_first = true}};
  const Bytes content = npy(header("|u1", "1, 3, 1, 2"), {0, 51, 102, 153, 204, 255});
  const auto samples = samples_of(folder, content, images);
  REQUIRE(samples.size() == 1);
  const std::vector<float> expected{0, 102 / 255.f, 204 / 255.f, 51 / 255.f, 153 / 255.f, 1};
  CHECK(floats_of(samples[0]) == expected);
}

TEST_CASE("inputs that are missing or of another kind are samples with a problem", "[data]") {
  const TemporaryFolder folder;
  const DataDescription data = table();
  const std::string png = (folder.path() / "a.png").string(), none = (folder.path() / "none").string();
  write_file(png, "\x89PNG\r\n");
  const auto samples = all_of(*input_samples({png, none, folder.path().string()}, data, {}));
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].problem == png + ": an image, and the model takes none");
  CHECK(samples[1].problem.find(none) != std::string::npos);
  CHECK(samples[2].problem.find("a folder") != std::string::npos);
}

TEST_CASE("a socket is a damaged input, whose message names the reason", "[data]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "socket").string();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  REQUIRE(path.size() < sizeof address.sun_path);
  std::ranges::copy(path, address.sun_path);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  REQUIRE(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const auto samples = all_of(*input_samples({path}, table(), {}));
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].problem == path + ": No such device or address");
}

TEST_CASE("a WebP file is an image, also where its header holds a line end and a pipe brings it in parts",
          "[data]") {
  const TemporaryFolder folder;
  const DataDescription images{.info = {.sample = {2, 2, 3}}};
  const Bytes pixels = repeated(4, {51, 102, 255});
  const auto samples = samples_of(folder, webp_bytes(2, 2, 3, pixels, true), images);
  REQUIRE(samples.size() == 1);
  std::vector<float> elements(12);
  SampleDecoder(images, nullptr).decode(samples[0], elements);
  for (std::size_t i = 0; i < elements.size(); ++i) CHECK(elements[i] == Approx(pixels[i] / 255.0));

  Pipe pipe;
  std::thread writer([&] {
    pipe.write("RIFF\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    pipe.write("...WEBP");
    pipe.close();
  });
  const DataDescription data = table();
  const std::string path = "/proc/self/fd/" + std::to_string(pipe.reader());
  const auto piped = all_of(*input_samples({path}, data, {}));
  writer.join();
  REQUIRE(piped.size() == 1);
  CHECK(piped[0].problem == path + ": an image, and the model takes none");
}

TEST_CASE("a sample of a pipe is there as soon as its line is complete", "[data]") {
  Pipe pipe;
  const DataDescription data = table();
  const auto source = table_samples(InputText(pipe.reader(), "-"), data, "");
  RawSample sample;
  CHECK(source->next(sample, false) == Next::later);
  pipe.write("1,");
  CHECK(source->next(sample, false) == Next::later);
  pipe.write("2\n3,4");
  REQUIRE(source->next(sample, true) == Next::sample);
  CHECK(floats_of(sample) == std::vector<float>{1, 2});
  CHECK(source->next(sample, false) == Next::later);
  pipe.close();
  REQUIRE(source->next(sample, true) == Next::sample);
  CHECK(floats_of(sample) == std::vector<float>{3, 4});
  CHECK(sample.place == 2);
  CHECK(source->next(sample, true) == Next::end);
}

TEST_CASE("a line of text becomes its last tokens, padded", "[data]") {
  const auto tokenizer = byte_tokenizer();
  const DataDescription data{.info = {.sample = {4}, .positions = 4, .vocabulary = 256}};
  SampleDecoder decoder(data, tokenizer.get());
  std::vector<float> elements(4, -1);
  CHECK(decoder.decode({.kind = RawSample::Kind::line, .bytes = "ab"}, elements) == 2);
  CHECK(elements == std::vector<float>{97, 98, 0, 0});
  CHECK(decoder.decode({.kind = RawSample::Kind::line, .bytes = "abcdef"}, elements) == 4);
  CHECK(elements == std::vector<float>{99, 100, 101, 102});
  CHECK_THROWS_WITH(decoder.decode({.kind = RawSample::Kind::line, .file = "t"}, elements),
                    Catch::Contains("the line is empty"));
}

}  // namespace trainer
