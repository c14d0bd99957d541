// Files on the Hugging Face Hub as local files: each is downloaded into the cache that smelt shares
// with Python when it is first read. A revision such as main is looked up once per process, so all
// files of a run come from one commit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/hub/hub_cache.h"
#include "io/hub/hub_path.h"

namespace smelt::io {

// These functions are thread-safe. All throw UsageError if the repository or revision does not
// exist, may not be read, or is not cached while HF_HUB_OFFLINE is set; SystemError for network
// errors if the cache cannot be used instead. If the Hub is unreachable, the commit in the cache is
// used with a warning; patterns, datasets and lists then throw SystemError unless the cache lists
// all files of the commit.

// Downloads a file unless it is cached, and returns its path in the cache. Throws UsageError if it
// does not exist or is a folder.
std::string hub_file(const std::string& path);
// Returns hub_file() of a path on the Hub, and any other path unchanged.
std::string downloaded_path(const std::string& path);

struct HubStatus {
  bool is_folder = false;
  std::uint64_t size = 0;
  std::int64_t version = 0;  // differs if the content differs
};
// Returns nullopt if the file or folder does not exist in the repository. Downloads nothing.
std::optional<HubStatus> hub_status(const std::string& path);

// Returns the checksum that the Hub lists for a file, in hexadecimal digits: SHA-256 or git's
// SHA-1; "" if the Hub lists none. Downloads nothing.
std::string hub_checksum(const std::string& path);

// Returns the sorted names of the files and folders in a folder; empty if it does not exist.
std::vector<std::string> hub_folder(const std::string& path);

// Returns the paths of files that match a pattern, sorted. * and ? match within one part of a path,
// [...] a set of characters, and ** any number of folders.
std::vector<std::string> hub_matches(const std::string& pattern);

// Returns the files of a split of a dataset: "train", "validation" or "test" (hub_dataset.h).
// Throws UsageError if the dataset does not have the split.
std::vector<std::string> hub_dataset_files(const std::string& dataset, const std::string& split);

// Returns whether the path is a whole dataset: hf://datasets/ORG/NAME, without a file.
bool is_hub_dataset(std::string_view path);

// Returns the path with the commit of its revision: hf://ORG/NAME@<40 digits>/PATH. Returns the
// path unchanged if the repository cannot be reached.
std::string hub_at_commit(const std::string& path);

// The commit of a revision, for callers that need several of its files.
struct HubCommit {
  HubPath path;  // at the commit
  std::string commit;
};
HubCommit hub_commit(const HubPath& path);

// Downloads one file of a commit. `path` is relative to the repository. Returns its path in the
// cache.
std::string hub_file_of(const HubCommit& commit, const std::string& path);

// Returns the files of a commit below a folder ("" for all).
HubFiles hub_files_below(const HubCommit& commit, const std::string& folder);

// Returns whether a path of a file matches a pattern of hub_matches().
bool matches_hub_pattern(std::string_view pattern, std::string_view path);

// Throws the UsageError for an attempt to write to hf://; `action` begins the message.
[[noreturn]] void refuse_hub_output(std::string_view action, const std::string& path);

// Forgets the commits of revisions, so that they are looked up again. For programs that run long.
void forget_hub_commits();

}  // namespace smelt::io
