// Bytes scattered over buckets by several writers, each into its own local file, and read back
// bucket by bucket: the two halves of an external shuffle.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// A run of one bucket's bytes in a spill file.
struct SpillChunk {
  std::uint64_t offset = 0;
  std::uint32_t size = 0, bucket = 0, crc32c = 0, file = 0;
};

class SpillWriter {
 public:
  // At most about `memory` bytes wait in buffers.
  SpillWriter(std::string path, std::size_t buckets, std::size_t memory);

  // A record is never cut over two chunks. SystemError on a full disk.
  void append(std::size_t bucket, std::string_view record);
  // Writes what is left; nothing may be appended afterwards.
  std::vector<SpillChunk> finish();
  const std::string& path() const { return path_; }

 private:
  void flush(std::size_t bucket);

  std::string path_;
  std::size_t chunk_bytes_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t size_ = 0;
  std::vector<std::string> buffers_;
  std::vector<SpillChunk> chunks_;
};

// What the writers wrote. Reading is thread-safe.
class Spill {
 public:
  Spill() = default;
  // One list of chunks for each file.
  Spill(std::vector<std::string> files, const std::vector<std::vector<SpillChunk>>& chunks);
  // As saved. UsageError when the index is damaged.
  static Spill load(const std::string& index);
  void save(const std::string& index) const;

  // Chunks of the buckets [first, last), in no particular order. UsageError when the bytes are not
  // those that were written.
  std::vector<std::string> read(std::size_t first, std::size_t last) const;

 private:
  std::vector<std::string> files_;
  std::vector<SpillChunk> chunks_;  // by bucket
};

}  // namespace smelt
