// Records with 64-bit keys, scattered over ranges of the keys in local files and read back range by
// range: the two halves of an external shuffle. In memory is one buffer a range while they are
// written, and about 48 bytes a range afterwards: each chunk of a range names the one before.
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

namespace smelt {

constexpr std::uint64_t kLastKey = std::numeric_limits<std::uint64_t>::max();

// A run of one range's records in a file. Its bytes begin with the link to the one before it.
struct SpillLink {
  std::uint64_t offset = 0;
  std::uint32_t size = 0, crc32c = 0;  // size 0: there is none
};

struct SpillRange {
  std::uint64_t first_key = 0;  // its keys go from here to the next range's
  std::uint64_t bytes = 0, records = 0;
  SpillLink last;
  std::uint32_t file = 0;
};

struct SpillRecord {
  std::uint64_t key = 0;
  std::string_view bytes;
};
constexpr std::size_t kSpillRecordHead = 12;  // bytes that a record takes beside its own
// What ExternalShuffle::read gave, without the link.
inline std::string_view spill_records(const std::string& chunk) {
  return std::string_view(chunk).substr(sizeof(SpillLink));
}
// Takes the next of them.
SpillRecord take_record(std::string_view& records);

// A file for this user alone that several threads append to.
class SpillFile {
 public:
  explicit SpillFile(std::string path);  // a new one
  // One that is there, of which what follows its first `size` bytes is dropped. UsageError when
  // there are fewer.
  SpillFile(std::string path, std::uint64_t size);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  std::uint64_t append(std::string_view bytes);  // where they are; SystemError on a full disk
  void close();                                  // SystemError when what was written is lost
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> size_ = 0;
};

// Thread-safe.
class SpillWriter {
 public:
  // `first_keys` ascend from the least key that comes; a range's records are written when
  // `chunk_bytes` of them have gathered.
  SpillWriter(SpillFile& file, const std::vector<std::uint64_t>& first_keys,
              std::size_t chunk_bytes);

  // Goes on with ranges that flush() has given, behind what the file holds.
  SpillWriter(SpillFile& file, const std::vector<SpillRange>& ranges, std::size_t chunk_bytes);

  void append(std::uint64_t key, std::string_view record);
  // Writes what is left: all that was appended lies in these ranges of the file. Nothing may be
  // appended meanwhile.
  std::vector<SpillRange> flush();
  std::uint64_t bytes()
      const;  // of all records, as ExternalShuffle's; none may be appended meanwhile
  // As flush(); nothing may be appended afterwards.
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

// How ranges that are too large are cut.
struct SplitOptions {
  std::string folder, name;  // of the new files: folder/name-2, …
  std::uint64_t limit = 0;   // bytes of a range
  std::size_t fan_out = 2;   // ranges that one becomes, at most
  std::size_t least_chunk = 0, most_chunk = 0;
  std::size_t memory = 0;  // bytes, for buffers
  int threads = 1;
  std::string list = {};  // not empty: where what has come out is saved after each pass
};

// What was written. Reading is thread-safe.
class ExternalShuffle {
 public:
  ExternalShuffle() = default;
  ExternalShuffle(const std::string& file, std::vector<SpillRange> ranges);
  // As saved, with the files that lie beside the list. UsageError when the list is damaged.
  static ExternalShuffle load(const std::string& list);
  void save(const std::string& list) const;
  // Whatever else is to be saved with it.
  Json& note() { return note_; }
  const Json& note() const { return note_; }

  const std::vector<SpillRange>& ranges() const { return ranges_; }  // by their keys
  std::uint64_t bytes() const;

  // The range's chunks from the last to the first, one at a time. UsageError when the bytes are not
  // those that were written.
  void read(const SpillRange& range, const std::function<void(std::string)>& take) const;

  // Cuts each range of more than the limit, pass after pass, until none is or a single key is left
  // of it. The ranges that come out depend on the records, the limit and the fan-out alone. A pass
  // needs room on the disk for what it cuts; files that are then empty are removed. Of a pass that
  // was cut off nothing remains in the saved list.
  void split(const SplitOptions& options);
  // Removes the files.
  void remove();
  // Removes the files of the name, <folder>/<name>-1, …, that are not this spill's: a killed
  // process left them.
  void remove_others(const std::string& folder, std::string_view name) const;

 private:
  std::vector<std::size_t> find_large(std::uint64_t limit) const;
  std::uint64_t last_key(std::size_t range) const;
  void replace(const std::string& file, std::vector<std::vector<SpillRange>> parts,
               const std::string& list);
  void drop_unused(const std::string& list);

  std::vector<std::shared_ptr<const RandomAccessFile>> files_;  // none where it was removed
  std::vector<SpillRange> ranges_;
  Json note_;
};

// floor(a * b / c), which must fit.
std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c);
// Keys that cut [first, last] into `parts` equal ranges, or fewer where there are fewer keys.
std::vector<std::uint64_t> cut_keys(std::uint64_t first, std::uint64_t last, std::size_t parts);

}  // namespace smelt
