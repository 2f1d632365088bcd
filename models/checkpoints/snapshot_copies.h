#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/parallel/communicator.h"

namespace trainer {

/// The folders of a run's snapshots, one in the memory of each host. World rank 0 writes a snapshot into its
/// own; the first rank of each host that does not see that folder keeps a copy. Every rank has one.
class SnapshotCopies {
 public:
  /// `is_first`: of the ranks of its host, as world rank 0 is. `folder` has the same path on every host, in
  /// an existing folder. Collective.
  SnapshotCopies(Communicator& world, bool is_first, std::filesystem::path folder);

  /// Call when a run begins after `step` steps: the snapshot of that step stays, all else is removed.
  void begin(std::int64_t step) const;
  /// A text if some host lacks `bytes` of room, the same on all ranks; else empty. Collective.
  std::string lack_of_room(std::uint64_t bytes) const;
  /// Copies `snapshot`, a directory of world rank 0, to the other folders. The first failure to write, the
  /// same on all ranks; empty if there is none. Collective.
  std::string spread(const std::filesystem::path& snapshot) const;
  /// The first text that is not empty, of any rank. Collective.
  std::string first_of(const std::string& mine) const;

 private:
  bool sees_folder_of_rank_0(Communicator& hosts) const;
  void send(const std::filesystem::path& file) const;
  std::string receive() const;

  Communicator& world_;
  std::filesystem::path folder_;
  std::unique_ptr<Communicator> writers_;  ///< of the ranks with a folder; of all others
  bool writes_ = false;
};

}  // namespace trainer
