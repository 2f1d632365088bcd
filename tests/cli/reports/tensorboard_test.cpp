#include "cli/reports/tensorboard.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "engine/core/error.h"
#include "engine/system/files.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string bytes_of(const fs::path& file) { return read_file(file, ExitCode::failure, 1 << 20); }

/// The first record of each file of TensorFlow: time 0, version brain.Event:2.
const std::string kFileStart =
    "1800000000000000a37f4b220900000000000000001a0d627261696e2e4576656e743a32eedf28a3";

}  // namespace

TEST_CASE("records and scalars have the bytes of TensorFlow's formats", "[tensorboard]") {
  // The CRC-32C of these digits, e3069283, is that of RFC 3720.
  CHECK(hex(tfrecord("123456789")) == "090000000000000037f97139313233343536373839e5b08ac7");
  CHECK(hex(scalar_event(300, 1.5, "loss", 0.25F)) ==
        "09000000000000f83f10ac022a0d0a0b0a046c6f7373150000803e");
}

TEST_CASE("each split has a file of its own, without values that are not finite", "[tensorboard]") {
  const TemporaryFolder run;
  write_text(run.path() / "metrics.jsonl",
             R"({"step":1,"epoch":1,"split":"train","loss":0.5,"lr":0.1,"time":1})"
             "\n"
             R"({"step":2,"epoch":1,"split":"train","loss":null,"time":2})"
             "\n"
             R"({"step":2,"epoch":1,"split":"test","loss":0.25,"time":2})"
             "\n");
  const fs::path folder = write_tensorboard(run.path());
  CHECK(folder == run.path() / "tensorboard");
  const std::string file = "events.out.tfevents.0.trainer";
  CHECK(hex(bytes_of(folder / "train" / file)) == kFileStart +
                                                      hex(tfrecord(scalar_event(1, 1, "loss", 0.5F))) +
                                                      hex(tfrecord(scalar_event(1, 1, "lr", 0.1F))));
  CHECK(hex(bytes_of(folder / "test" / file)) ==
        kFileStart + hex(tfrecord(scalar_event(2, 2, "loss", 0.25F))));
}

TEST_CASE("event files are not written behind a link", "[tensorboard]") {
  const TemporaryFolder run, elsewhere;
  write_text(run.path() / "metrics.jsonl",
             R"({"step":1,"epoch":1,"split":"train","loss":0.5,"lr":0.1,"time":1})"
             "\n");
  const std::string link =
      GENERATE("tensorboard", "tensorboard/train", "tensorboard/train/events.out.tfevents.0.trainer");
  fs::create_directories((run.path() / link).parent_path());
  fs::create_symlink(link.ends_with("trainer") ? elsewhere.path() / "file" : elsewhere.path(),
                     run.path() / link);
  CHECK_THROWS_WITH(write_tensorboard(run.path()),
                    Catch::Contains(link + " is a link, which is not followed"));
  CHECK(fs::is_empty(elsewhere.path()));
}

TEST_CASE("a file in the place of the folder of event files is named", "[tensorboard]") {
  const TemporaryFolder run;
  write_text(run.path() / "metrics.jsonl",
             R"({"step":1,"epoch":1,"split":"train","loss":0.5,"lr":0.1,"time":1})"
             "\n");
  write_text(run.path() / "tensorboard", "");
  CHECK_THROWS_WITH(write_tensorboard(run.path()),
                    Catch::Contains("cannot write " + (run.path() / "tensorboard").string()));
}

}  // namespace trainer
