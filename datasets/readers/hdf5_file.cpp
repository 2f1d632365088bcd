#include "datasets/readers/hdf5_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr std::uint64_t kLargestBlock = std::uint64_t{1} << 26;
constexpr std::size_t kMostMessages = 1 << 16, kMostMembers = 1 << 20, kMostNames = 1000, kMostGroups = 1000;

}  // namespace

std::span<const std::uint8_t> Hdf5Block::take(std::uint64_t bytes) {
  if (bytes > left()) file_->fail_damaged("a block of it ends too early");
  const auto taken = std::span(bytes_).subspan(at_, bytes);
  at_ += bytes;
  return taken;
}

std::uint64_t Hdf5Block::number(int bytes) {
  std::uint64_t number = 0;
  int shift = 0;
  for (const std::uint8_t byte : take(static_cast<std::uint64_t>(bytes))) {
    number |= std::uint64_t{byte} << shift;
    shift += 8;
  }
  return number;
}

std::string Hdf5Block::text(std::uint64_t bytes) {
  const auto taken = take(bytes);
  return {taken.begin(), taken.end()};
}

Hdf5Block Hdf5Block::part(std::uint64_t bytes) {
  const auto taken = take(bytes);
  return {*file_, {taken.begin(), taken.end()}};
}

Hdf5File::Hdf5File(const std::string& path) : file_(path, ExitCode::data) { read_superblock(); }

void Hdf5File::fail(const std::string& what, const std::string& note) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = path(), .notes = {note}}});
}

void Hdf5File::read(std::uint64_t address, std::span<std::uint8_t> bytes) const {
  const std::uint64_t room = size() - std::min(size(), base_);
  if (address > room || bytes.size() > room - address)
    fail("HDF5 file is truncated or damaged",
         fmt::format("{} bytes at {} lie outside of its {} bytes", bytes.size(), address, size()));
  file_.read(base_ + address, std::as_writable_bytes(bytes));
}

Hdf5Block Hdf5File::block(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes > kLargestBlock || bytes > size())
    fail_damaged(fmt::format("a block of it claims {} bytes", bytes));
  std::vector<std::uint8_t> content(bytes);
  read(address, content);
  return {*this, std::move(content)};
}

void Hdf5File::read_superblock() {
  // Other data may stand in front: at 512, 1024, ... as MATLAB's.
  const auto is_here = [&](std::uint64_t at) {
    return at + 96 <= size() && block(at, kSignature.size()).text(kSignature.size()) == kSignature;
  };
  std::uint64_t at = 0;
  while (at < size() && !is_here(at)) at = at == 0 ? 512 : at * 2;
  if (at >= size()) fail("not an HDF5 file", "an HDF5 file begins with 89 48 44 46");
  Hdf5Block block = this->block(at, 96);
  block.skip(kSignature.size());
  const int version = block.byte();
  if (version > 3)
    fail("HDF5 file of another version", fmt::format("superblock {}; 0 to 3 are read", version));
  if (version < 2) block.skip(4);
  const int address_bytes = block.byte(), length_bytes = block.byte();
  if (address_bytes != 8 || length_bytes != 8)
    fail("HDF5 file with other addresses",
         fmt::format("of {} bytes; those of 8 bytes are read", address_bytes));
  block.skip(version == 0 ? 9 : version == 1 ? 13 : 1);
  block.skip(version < 2 ? 40 : 24);
  root_ = block.address();
  base_ = at;
}

void Hdf5File::add_messages(Hdf5Block& block, int version, bool has_order, std::vector<Hdf5Message>& messages,
                            std::vector<std::pair<std::uint64_t, std::uint64_t>>& continued) const {
  constexpr int kContinuation = 16;
  const std::uint64_t header = version == 1 ? 8 : has_order ? 6 : 4;
  while (block.left() >= header) {
    const int type = static_cast<int>(block.number(version == 1 ? 2 : 1));
    const std::uint64_t bytes = block.number(2);
    const int flags = block.byte();
    block.skip(header - (version == 1 ? 5 : 4));
    Hdf5Block content = block.part(bytes);
    if (messages.size() + continued.size() >= kMostMessages) fail_damaged("an object header is endless");
    if (type == kContinuation) {
      const std::uint64_t address = content.address();
      continued.emplace_back(address, content.number(8));
    } else {
      messages.push_back({.type = type, .is_shared = (flags & 2) != 0, .block = std::move(content)});
    }
  }
}

std::vector<Hdf5Message> Hdf5File::messages(std::uint64_t header) const {
  constexpr std::uint64_t kChecksum = 4;
  std::vector<Hdf5Message> messages;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> continued;  // address and size of more messages
  Hdf5Block start = block(header, 16);
  int version = start.byte();
  bool has_order = false;
  if (version == 1) {
    start.skip(7);
    Hdf5Block first = block(header + 16, start.number(4));
    add_messages(first, 1, false, messages, continued);
  } else {
    start = block(header, 6);
    if (start.text(4) != "OHDR" || start.byte() != 2)
      fail_damaged(fmt::format("no object header at {}", header));
    version = 2;
    const int flags = start.byte();
    has_order = (flags & 4) != 0;
    const std::uint64_t more = ((flags & 32) != 0 ? 16u : 0u) + ((flags & 16) != 0 ? 4u : 0u);
    const int width = 1 << (flags & 3);
    Hdf5Block size = block(header + 6 + more, static_cast<std::uint64_t>(width));
    Hdf5Block first = block(header + 6 + more + static_cast<std::uint64_t>(width), size.number(width));
    add_messages(first, 2, has_order, messages, continued);
  }
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < continued.size(); ++i) {
    const auto [address, bytes] = continued[i];
    total += std::min(bytes, size());
    if (total > size()) fail_damaged("an object header is endless");
    Hdf5Block more = block(address, bytes);
    if (version == 2) {
      if (more.text(4) != "OCHK") fail_damaged(fmt::format("no object header at {}", address));
      more = more.part(more.left() - std::min(more.left(), kChecksum));
    }
    add_messages(more, version, has_order, messages, continued);
  }
  return messages;
}

std::map<std::string, std::uint64_t> Hdf5File::members(std::uint64_t header) const {
  Members members;
  for (Hdf5Message& message : messages(header)) {
    if (message.type == Hdf5Message::symbols) add_table(message.block, members);
    if (message.type == Hdf5Message::link) add_link(message.block, members);
    if (message.type != Hdf5Message::link_info) continue;
    message.block.skip(1);
    message.block.skip((message.block.byte() & 1) != 0 ? 8 : 0);
    if (message.block.address() != kNone)
      fail("a group of HDF5 that is not read",
           "it has its links outside of its header; h5repack writes others");
  }
  return members;
}

void Hdf5File::add_table(Hdf5Block& message, Members& members) const {
  const std::uint64_t tree = message.address();
  Hdf5Block heap = block(message.address(), 32);
  if (heap.text(4) != "HEAP") fail_damaged("a group has no names");
  heap.skip(4);
  const std::uint64_t bytes = heap.number(8);
  heap.skip(8);
  Visited visited;
  add_nodes(tree, -1, block(heap.address(), bytes).text(bytes), visited, members);
}

void Hdf5File::add_nodes(std::uint64_t address, int expected_level, const std::string& names,
                         Visited& visited, Members& members) const {
  if (!visited.insert(address).second) fail_damaged("a group contains itself");
  Hdf5Block node = block(address, 24);
  if (node.text(4) != "TREE" || node.byte() != 0)
    fail_damaged(fmt::format("no node of a group at {}", address));
  const int level = node.byte();
  if (expected_level >= 0 && level != expected_level) fail_damaged("the tree of a group is not valid");
  const std::uint64_t count = node.number(2);
  Hdf5Block children = block(address + 24, 8 + 16 * count);
  for (std::uint64_t child = 0; child < count; ++child) {
    children.skip(8);
    const std::uint64_t place = children.address();
    if (level > 0) {
      add_nodes(place, level - 1, names, visited, members);
      continue;
    }
    if (!visited.insert(place).second) fail_damaged("a group contains itself");
    Hdf5Block table = block(place, 8);
    if (table.text(4) != "SNOD") fail_damaged(fmt::format("no members of a group at {}", place));
    table.skip(2);
    const std::uint64_t entries = table.number(2);
    table = block(place + 8, 40 * entries);
    for (std::uint64_t entry = 0; entry < entries; ++entry) {
      const std::uint64_t name = table.number(8), header = table.address();
      constexpr std::uint64_t kSoftLink = 2;
      const bool is_link = table.number(4) == kSoftLink;
      table.skip(20);
      if (name >= names.size()) fail_damaged("a member of a group has no name");
      members[names.c_str() + name] = is_link ? kNone : header;
      if (members.size() > kMostMembers) fail_damaged("a group has more members than are read");
    }
  }
}

void Hdf5File::add_link(Hdf5Block& message, Members& members) const {
  message.skip(1);
  const int flags = message.byte();
  const int type = (flags & 8) != 0 ? message.byte() : 0;
  message.skip((flags & 4) != 0 ? 8 : 0);
  message.skip((flags & 16) != 0 ? 1 : 0);
  const std::string name = message.text(message.number(1 << (flags & 3)));
  members[name] = type == 0 ? message.address() : kNone;
}

std::uint64_t Hdf5File::find(const std::string& name) const {
  std::uint64_t header = root_;
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty()) continue;
    const Members all = members(header);
    const auto member = all.find(part);
    if (member == all.end() || member->second == kNone) {
      std::vector<std::string> there = datasets();
      constexpr std::size_t kNamed = 20;
      const std::size_t others = there.size() - std::min(there.size(), kNamed);
      if (others > 0) {
        there.resize(kNamed);
        there.push_back(fmt::format("{} others", others));
      }
      fail(fmt::format("HDF5 file has no dataset {}", in_quotes(name)),
           member != all.end() ? "a link to another place; those are not read"
           : there.empty()     ? "it has none"
                               : "it has " + listed(there, "and"));
    }
    header = member->second;
  }
  return header;
}

std::vector<std::string> Hdf5File::datasets() const {
  std::vector<std::string> names;
  Visited visited;
  add_datasets("", root_, visited, names);
  return names;
}

void Hdf5File::add_datasets(const std::string& group, std::uint64_t header, Visited& visited,
                            std::vector<std::string>& names) const {
  if (visited.size() >= kMostGroups || !visited.insert(header).second) return;
  for (const auto& [name, member] : members(header)) {
    if (member == kNone || names.size() >= kMostNames) continue;
    const std::vector<Hdf5Message> all = messages(member);
    if (std::ranges::any_of(all, [](const Hdf5Message& it) { return it.type == Hdf5Message::layout; }))
      names.push_back(group + name);
    else
      add_datasets(group + name + '/', member, visited, names);
  }
}

}  // namespace trainer
