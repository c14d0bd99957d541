// Sorted string tables: LevelDB's file format, in which TensorFlow writes the index of a
// checkpoint; docs/reference/formats/tensor_bundle.md. Bytes only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

struct TableEntry {
  std::string key;
  std::string_view value;  // points into the table's bytes
};

// All entries, in the order of their keys. UsageError, in which `origin` names the file, when it is
// no such table, when a block's checksum does not hold or is packed by Snappy, and when the keys do
// not ascend.
std::vector<TableEntry> read_sstable(std::string_view bytes, std::string_view origin);

// As TensorFlow writes it, byte for byte: no packing, a restart every 16 entries of a block. The
// keys must ascend.
inline constexpr std::size_t kTableBlockBytes = 262144;
std::string sstable_bytes(const std::vector<std::pair<std::string, std::string>>& entries,
                          std::size_t block_bytes = kTableBlockBytes);

}  // namespace smelt
