#include "data/input_pipeline/data_paths.h"

#include <array>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/snapshot.h"
#include "io/formats/token_store.h"

namespace smelt::data {

std::vector<std::string> data_paths(std::string_view patterns, std::string_view what) {
  return io::expand_patterns(patterns, what, [&](const std::string& pattern) {
    std::vector<std::string> found = io::match_pattern(pattern, what);
    if (!found.empty()) return found;
    found = io::match_pattern(io::join_path(pattern, io::kSnapshotMetadata), what);
    for (std::string& path : found) path = io::parent_path(path);
    return found;
  });
}

bool is_snapshot(const std::string& path) {
  const auto status = io::file_status(path);
  if (!status || !status->is_folder) return false;
  if (!io::exists(io::join_path(path, io::kSnapshotMetadata)))
    throw UsageError(str(path, ": a folder without ", io::kSnapshotMetadata),
                     str("name the files in it, as '", io::join_path(path, "*"),
                         "', or folders that tf.data.Dataset.save wrote"));
  return true;
}

bool is_token_store(const std::string& path) {
  std::array<char, io::kTokenStoreMagic.size()> head;
  const std::size_t count = io::RandomAccessFile(path).read_at(0, head);
  return std::string_view(head.data(), count) == io::kTokenStoreMagic;
}

bool holds_tokens(const std::string& path) { return is_snapshot(path) || is_token_store(path); }

}  // namespace smelt::data
