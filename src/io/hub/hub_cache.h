// The cache of huggingface_hub on this machine, which Python and smelt share:
//   models--ORG--NAME/{blobs/<checksum>, refs/<revision>, snapshots/<commit>/<path> -> blob,
//   trees/<commit>.json}, .locks/models--ORG--NAME/<checksum>.lock
// While smelt downloads, the file is blobs/<checksum>.smelt.incomplete.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/hub/hub_digest.h"
#include "io/hub/hub_path.h"

namespace smelt::io {

// A file of a commit.
struct HubFile {
  std::uint64_t size = 0;
  HubDigest digest = {};     // its name in blobs/; "" if it is not known
  std::string git_oid = {};  // of the pointer, for a file in large-file storage
};

// The files of a commit by path, below one folder or all.
using HubFiles = std::map<std::string, HubFile>;

class HubCache {
 public:
  // `root` is the cache folder, which need not exist.
  HubCache(std::string root, const HubRepo& repo);

  // Returns the commit that a revision had when it was last looked up, or nullopt.
  std::optional<std::string> read_ref(const std::string& revision) const;
  // Records the commit of a revision. Does nothing if the revision is the commit itself.
  void write_ref(const std::string& revision, const std::string& commit) const;

  // Returns all files of a commit if trees/<commit>.json lists them, or nullopt.
  std::optional<HubFiles> read_tree(const std::string& commit) const;
  void write_tree(const std::string& commit, const HubFiles& files) const;
  // Returns the files of a commit that are in the cache.
  HubFiles cached_files(const std::string& commit) const;

  // Returns the path of a file of a commit, whether or not it exists.
  std::string snapshot_file(const std::string& commit, const std::string& path) const;
  // Returns whether the file exists there with this size.
  bool has_file(const std::string& commit, const std::string& path, std::uint64_t size) const;
  std::string blob(const HubDigest& digest) const;
  bool has_blob(const HubDigest& digest, std::uint64_t size) const;
  // Makes a blob available as a file of a commit: a relative symbolic link, or a copy on a disk
  // without links.
  void link_file(const std::string& commit, const std::string& path, const HubDigest& digest) const;

  // Holds the lock of a blob, which Python's client also takes, until the result is destroyed.
  // Waits for another process that holds it, and logs that. Returns nullptr on a disk without
  // locks, where another process may download the same blob at the same time.
  std::shared_ptr<const void> lock_blob(const HubDigest& digest) const;

  // Creates the folders of the repository. Throws UsageError or SystemError if that fails.
  void make() const;
  const std::string& root() const { return root_; }

 private:
  std::string root_, name_, folder_;
};

}  // namespace smelt::io
