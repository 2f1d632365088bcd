#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/system/files.h"

namespace trainer {

/// Reads little-endian fields of a block of an HDF5 file, front to back. A block that ends sooner is an
/// Error.
class Hdf5Block {
 public:
  /// `file` outlives the block.
  Hdf5Block(const class Hdf5File& file, std::vector<std::uint8_t> bytes)
      : file_(&file), bytes_(std::move(bytes)) {}

  std::uint64_t number(int bytes);
  int byte() { return static_cast<int>(number(1)); }
  std::uint64_t address() { return number(8); }
  /// Text of so many bytes.
  std::string text(std::uint64_t bytes);
  void skip(std::uint64_t bytes) { take(bytes); }
  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  Hdf5Block part(std::uint64_t bytes);

 private:
  std::span<const std::uint8_t> take(std::uint64_t bytes);

  const Hdf5File* file_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t at_ = 0;
};

/// A message of an object header: a property of a group or dataset.
struct Hdf5Message {
  enum Type {
    dataspace = 1,
    link_info = 2,
    datatype = 3,
    external = 7,
    link = 6,
    layout = 8,
    filters = 11,
    symbols = 17
  };
  int type = 0;
  bool is_shared = false;  ///< it refers to another object
  Hdf5Block block;
};

/// The groups and object headers of an HDF5 file, as HDF5 1.0 to 1.10 write it by default: addresses of 8
/// bytes, groups as symbol tables or as links in their header. Every claim of the file is checked before it
/// is used; Error(data) if one is wrong or of a form that is not read.
class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path);

  static bool starts(std::string_view bytes) { return bytes.starts_with("\x89HDF"); }
  /// "train/x" for "/train/x": names begin at the root.
  static std::string plain_name(const std::string& name) {
    return name.substr(std::min(name.find_first_not_of('/'), name.size()));
  }
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};  ///< an address that refers to nothing

  std::uint64_t size() const { return file_.size(); }
  std::string path() const { return file_.path().string(); }
  /// Fills `bytes` from an address of the file. Error(data) if it lies outside.
  void read(std::uint64_t address, std::span<std::uint8_t> bytes) const;
  Hdf5Block block(std::uint64_t address, std::uint64_t bytes) const;
  /// The names of a group's members and the addresses of their headers, kNone for links to other places.
  std::map<std::string, std::uint64_t> members(std::uint64_t header) const;
  /// The address of the header of "group/name". Error(data) if there is none, with the names that are there.
  std::uint64_t find(const std::string& name) const;
  std::vector<Hdf5Message> messages(std::uint64_t header) const;
  /// Names of all datasets, with their groups, in the order of the names; at most 1,000.
  std::vector<std::string> datasets() const;
  [[noreturn]] void fail(const std::string& what, const std::string& note) const;
  [[noreturn]] void fail_damaged(const std::string& note) const { fail("HDF5 file is damaged", note); }

 private:
  using Members = std::map<std::string, std::uint64_t>;
  using Visited = std::set<std::uint64_t>;  ///< addresses: a damaged file may lead in circles
  void read_superblock();
  void add_table(Hdf5Block& message, Members& members) const;
  /// Of a node of a group's tree, whose level is this; -1: any.
  void add_nodes(std::uint64_t address, int expected_level, const std::string& names, Visited& visited,
                 Members& members) const;
  void add_link(Hdf5Block& message, Members& members) const;
  void add_messages(Hdf5Block& block, int version, bool has_order, std::vector<Hdf5Message>& messages,
                    std::vector<std::pair<std::uint64_t, std::uint64_t>>& continued) const;
  void add_datasets(const std::string& group, std::uint64_t header, Visited& visited,
                    std::vector<std::string>& names) const;

  InputFile file_;
  std::uint64_t base_ = 0, root_ = 0;
};

}  // namespace trainer
