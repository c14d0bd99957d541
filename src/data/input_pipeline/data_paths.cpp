#include "data/input_pipeline/data_paths.h"

#include <array>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/snapshot.h"
#include "io/formats/token_store.h"

namespace smelt {

std::vector<std::string> data_paths(std::string_view patterns, std::string_view what) {
  return expand_patterns(patterns, what, [&](const std::string& pattern) {
    std::vector<std::string> found = match_pattern(pattern, what);
    if (!found.empty()) return found;
    found = match_pattern(join_path(pattern, kSnapshotMetadata), what);
    for (std::string& path : found) path = parent_path(path);
    return found;
  });
}

bool is_snapshot(const std::string& path) {
  const auto status = file_status(path);
  if (!status || !status->is_folder) return false;
  if (!exists(join_path(path, kSnapshotMetadata)))
    throw UsageError(str(path, ": a folder without ", kSnapshotMetadata),
                     str("name the files in it, as '", join_path(path, "*"),
                         "', or folders that tf.data.Dataset.save wrote"));
  return true;
}

bool is_token_store(const std::string& path) {
  std::array<char, kTokenStoreMagic.size()> head;
  const std::size_t count = RandomAccessFile(path).read_at(0, head);
  return std::string_view(head.data(), count) == kTokenStoreMagic;
}

bool holds_tokens(const std::string& path) { return is_snapshot(path) || is_token_store(path); }

}  // namespace smelt
