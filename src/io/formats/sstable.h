// Sorted string tables: LevelDB's file format, in which TensorFlow writes the index of a
// checkpoint; docs/reference/formats/tensor_bundle.md. Works on bytes and does not access files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt::io {

struct TableEntry {
  std::string key;
  std::string_view value;  // points into the table's bytes
};

// Returns all entries, ordered by key. Throws UsageError, in which `origin` names the file, if it
// is not a table, a checksum is wrong, a block is compressed with Snappy, or the keys are not
// ascending.
std::vector<TableEntry> read_sstable(std::string_view bytes, std::string_view origin);

// Writes a table exactly as TensorFlow does: uncompressed, with a restart every 16 entries. Keys
// must be ascending.
inline constexpr std::size_t kTableBlockBytes = 262144;
std::string sstable_bytes(const std::vector<std::pair<std::string, std::string>>& entries,
                          std::size_t block_bytes = kTableBlockBytes);

}  // namespace smelt::io
