#include "datasets/tar/tar_members.h"

#include <cstdlib>

#include "tests/datasets/tar/tar_files.h"

namespace trainer {
namespace {

struct Found {
  std::string name, content;
  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> members_of(const std::string& path) {
  const InputFile file(path, ExitCode::data);
  TarMembers members(file);
  std::vector<Found> found;
  for (TarMember member; members.next(member);) {
    std::string content(member.bytes, '\0');
    file.read(member.offset, std::as_writable_bytes(std::span(content)));
    found.push_back({member.name, content});
  }
  return found;
}

std::string problem_of(const Bytes& bytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tar", bytes);
  const std::string problem = data_error([&] { members_of(path); });
  CHECK_THAT(problem, Catch::Contains("a.tar"));
  return problem;
}

}  // namespace

TEST_CASE("members of tar files that Python writes as ustar, GNU and pax are found", "[tar]") {
  const std::string format = GENERATE("ustar", "gnu", "pax");
  const char* const folder = std::getenv("TRAINER_TAR_FILES");
  REQUIRE(folder != nullptr);
  const std::vector<Found> found = members_of(std::string(folder) + "/" + format);
  REQUIRE(found.size() == 4);
  CHECK(found[0] == Found{"a/0.cls", "1"});
  CHECK(found[1].name == "a/0.jpg");
  CHECK(found[2] == Found{std::string(120, 'l') + "/" + std::string(80, 'n') + ".cls", "0\n"});
  CHECK(found[3].content.size() == 600);
}

TEST_CASE("sizes in base 256, descriptions of others and zeros behind the end are read", "[tar]") {
  const TemporaryDirectory directory;
  Bytes bytes =
      tar_file({tar_member("pax", bytes_of("19 GNU.other=value\n"), 'g'), tar_member("folder/", {}, '5'),
                tar_member("link", {}, '2', "00000000077"),
                tar_member("a.cls", bytes_of("abc"), '0', std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12)),
                tar_member("pax", bytes_of("12 path=b.x\n9 size=2\n"), 'x'),
                tar_member("short", bytes_of("xy"), '0', "00000000000")});
  bytes.resize(bytes.size() + 10240);
  CHECK(members_of(directory.write("a.tar", bytes)) == std::vector<Found>{{"a.cls", "abc"}, {"b.x", "xy"}});
}

TEST_CASE("a damaged tar file is an error with its name", "[tar]") {
  using Catch::Contains;
  const Bytes good = tar_file({tar_member("a.cls", bytes_of("1")), tar_member("b.cls", bytes_of("2"))});
  CHECK_THAT(problem_of({}), Contains("tar file is empty"));
  CHECK_THAT(problem_of(bytes_of("no tar file")), Contains("not a tar file"));
  CHECK_THAT(problem_of(Bytes(600, 'x')), Contains("not a tar file") && Contains("wrong checksum"));
  CHECK_THAT(problem_of(gzipped(good)), Contains("tar file is compressed") && Contains("gunzip"));
  CHECK_THAT(problem_of(Bytes(good.begin(), good.begin() + 1024)),
             Contains("tar file is truncated") && Contains("block of zeros"));
  CHECK_THAT(problem_of(Bytes(good.begin(), good.begin() + 1300)), Contains("tar file is truncated"));
  Bytes flipped = good;
  flipped[1024] ^= 1;
  CHECK_THAT(problem_of(flipped), Contains("the header at byte 1024 has a wrong checksum"));
  for (const std::string size :
       {"77777777777", "\x80\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"})
    CHECK_THAT(problem_of(tar_file({tar_member("huge.cls", bytes_of("1"), '0', size)})),
               Contains("huge.cls"));
  CHECK_THAT(problem_of(tar_file({tar_member("odd.cls", bytes_of("1"), '0', "12x")})),
             Contains("the size of member `odd.cls` is no number"));
  for (const std::string records : {"5 a=b\n", "7 a=b", "999 path=a\n", "x path=a\n", "9 size=x\n", "4 a\n"})
    CHECK_THAT(problem_of(tar_file({tar_member("p", bytes_of(records), 'x')})),
               Contains("pax records at byte 0"));
  CHECK_THAT(problem_of(tar_file({tar_member("L", Bytes(1 << 17, 'a'), 'L')})), Contains("at most 65536"));
  CHECK_THAT(problem_of(tar_file({tar_member("L", Bytes(5000, 'a'), 'L'), tar_member("a", {})})),
             Contains("a name of 5000 bytes"));
  CHECK_THAT(problem_of(tar_file({tar_member("s", {}, 'S')})), Contains("sparse"));
  CHECK_THAT(problem_of(tar_file({tar_member("p", bytes_of("22 GNU.sparse.major=1\n"), 'x')})),
             Contains("sparse"));
}

}  // namespace trainer
