#include <zlib.h>

#include "datasets/readers/npy_array.h"
#include "datasets/readers/zip_file.h"
#include "tests/datasets/readers/npy_files.h"

namespace trainer {
namespace {

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

TEST_CASE("a file that is no readable archive is an error with the reason", "[npz]") {
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
      {"an entry with another signature", with(list, 'Q'), "entry 1 of its list is not valid"},
      {"more entries than its list", with(end + 10, 2), "entry 2 of its list is not valid"},
      {"a list beyond the end", with(end + 19, 1), "lies outside the file"},
      {"a name longer than the list", with(list + 28, 99), "is cut off"},
      {"an entry that is elsewhere", with(list + 42, 3), "not at the offset that the list gives"},
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

TEST_CASE("an archive cannot claim more than its size can hold", "[npz]") {
  const TemporaryDirectory directory;
  Bytes liar = zip({{"x.npy", Bytes(100)}}, true, false);
  // The unpacked size in the list, 24 bytes behind its signature.
  const std::size_t list = liar.size() - 22 - 46 - 5;
  for (std::size_t i = 0; i < 4; ++i) liar[list + 24 + i] = 0x7f;
  CHECK_THAT(data_error([&] { ZipFile(directory.write("a.npz", liar)); }),
             Catch::Contains("more bytes than the file can hold"));
}

}  // namespace trainer
