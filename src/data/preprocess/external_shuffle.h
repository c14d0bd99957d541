// External shuffle: writes records with 64-bit keys to local files by key range and reads them back
// range by range. Memory is one buffer per range while writing and about 48 bytes per range
// afterwards, because the chunks of a range form a linked list, last to first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/filesystem/random_access_file.h"

namespace smelt::data {

constexpr std::uint64_t kLastKey = std::numeric_limits<std::uint64_t>::max();

// A chunk of one range's records in a file. It begins with the link to the range's previous chunk.
struct SpillLink {
  std::uint64_t offset = 0;
  std::uint32_t size = 0, crc32c = 0;  // size 0: no chunk
};

struct SpillRange {
  std::uint64_t first_key = 0;  // lowest key; the range ends before the next range's first key
  std::uint64_t bytes = 0, records = 0;
  SpillLink last;
  std::uint32_t file = 0;
};

struct SpillRecord {
  std::uint64_t key = 0;
  std::string_view bytes;
};
constexpr std::size_t kSpillRecordHead = 12;  // bytes before a record's data
// Returns the records of a chunk that ExternalShuffle::read() passes to `take`: the chunk without
// the SpillLink at its beginning.
inline std::string_view spill_records(const std::string& chunk) {
  return std::string_view(chunk).substr(sizeof(SpillLink));
}
// Removes the first record and returns it.
SpillRecord take_record(std::string_view& records);

// A private file to which several threads append.
class SpillFile {
 public:
  explicit SpillFile(std::string path);  // creates the file
  // Opens an existing file and truncates it to `size` bytes. Throws UsageError if it is shorter.
  SpillFile(std::string path, std::uint64_t size);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Returns the offset; throws SystemError on a full disk.
  std::uint64_t append(std::string_view bytes);
  void close();  // throws SystemError if written data was lost
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> size_ = 0;
};

// Buffers records and writes them to a spill file in chunks, by key range. append() is thread-safe.
class SpillWriter {
 public:
  // `first_keys` must ascend and begin with the lowest key. A range's records are written whenever
  // `chunk_bytes` of them are buffered.
  SpillWriter(SpillFile& file, const std::vector<std::uint64_t>& first_keys,
              std::size_t chunk_bytes);

  // Continues to write ranges that flush() of an earlier writer returned. Appends new chunks to the
  // file.
  SpillWriter(SpillFile& file, const std::vector<SpillRange>& ranges, std::size_t chunk_bytes);

  void append(std::uint64_t key, std::string_view record);
  // Writes all buffered records and returns the ranges. Nothing may be appended during the call.
  std::vector<SpillRange> flush();
  std::uint64_t bytes() const;  // total, as in ExternalShuffle; not thread-safe with append
  // Calls flush() and returns its ranges; nothing may be appended afterwards.
  std::vector<SpillRange> finish();

 private:
  struct Bucket {
    std::mutex mutex;
    std::string chunk;
    SpillRange range;
  };
  void write(Bucket& bucket);

  SpillFile& file_;
  std::vector<std::uint64_t> first_keys_;
  std::size_t chunk_bytes_;
  std::vector<Bucket> buckets_;
};

// How to split ranges that are too large.
struct SplitOptions {
  std::string folder, name;  // where to write the new files: folder/name-2, …
  std::uint64_t limit = 0;   // maximum bytes of a range
  std::size_t fan_out = 2;   // maximum number of parts that a range is split into
  std::size_t least_chunk = 0, most_chunk = 0;
  std::size_t memory = 0;  // bytes for buffers
  int threads = 1;
  std::string list = {};  // if set, the file to save progress to after each pass
};

// Records written by a SpillWriter. Reading is thread-safe.
class ExternalShuffle {
 public:
  ExternalShuffle() = default;
  ExternalShuffle(const std::string& file, std::vector<SpillRange> ranges);
  // Loads a saved list; the spill files must be in the same folder. Throws UsageError if the list
  // is damaged.
  static ExternalShuffle load(const std::string& list);
  void save(const std::string& list) const;
  // Additional data to save with the list.
  Json& note() { return note_; }
  const Json& note() const { return note_; }

  const std::vector<SpillRange>& ranges() const { return ranges_; }  // sorted by key
  std::uint64_t bytes() const;

  // Passes the range's chunks to `take`, from last to first. Throws UsageError if the bytes differ
  // from what was written.
  void read(const SpillRange& range, const std::function<void(std::string)>& take) const;

  // Splits ranges that exceed the limit, in passes, until none does or a range has only one key.
  // The result depends only on the records, the limit and the fan-out. Each pass needs disk space
  // for what it splits; files that become empty are removed. The saved list contains no
  // results of an interrupted pass.
  void split(const SplitOptions& options);
  // Removes the files.
  void remove();
  // Removes the files <folder>/<name>-1, … that do not belong to this spill, which an interrupted
  // process may have left.
  void remove_others(const std::string& folder, std::string_view name) const;

 private:
  std::vector<std::size_t> find_large(std::uint64_t limit) const;
  std::uint64_t last_key(std::size_t range) const;
  void replace(const std::string& file, std::vector<std::vector<SpillRange>> parts,
               const std::string& list);
  void drop_unused(const std::string& list);

  std::vector<std::shared_ptr<const io::RandomAccessFile>> files_;  // null if removed
  std::vector<SpillRange> ranges_;
  Json note_;
};

// Returns floor(a * b / c), which must fit in 64 bits.
std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c);
// Returns keys that split [first, last] into `parts` equal ranges, or fewer if there are fewer
// keys.
std::vector<std::uint64_t> cut_keys(std::uint64_t first, std::uint64_t last, std::size_t parts);

}  // namespace smelt::data
