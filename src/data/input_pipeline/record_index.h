// Random access to the records of many TFRecord files as one list.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/open_files.h"
#include "io/formats/record_layout.h"

namespace smelt::data {

// Number of files to read in parallel; the threads mostly wait for the storage.
constexpr int kSideBySide = 16;

// "<first file>.work" is a folder that exists while the files are being written.
constexpr std::string_view kWorkSuffix = ".work";

// Expands a comma-separated list of files and patterns to record files. Skips accompanying files
// that a pattern such as `x*` also matches: `x.tfrecord.json` and `x.tfrecord.index`. Throws
// UsageError if the files are not completely written.
std::vector<std::string> record_files(std::string_view patterns, std::string_view what);

// The bytes of adjacent records as stored in their files.
struct RecordBytes {
  struct Piece {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::string bytes;  // shorter than requested if the file was truncated
  };
  std::vector<Piece> pieces;  // one per file
};

// An index of the records. Thread-safe; about 2 bytes of memory per record.
class RecordIndex {
 public:
  // Locates the records by each file's index (data/input_pipeline/record_index_file.h), or by
  // reading all record headers if there is no index. Throws UsageError if a file is missing or
  // truncated, a length checksum is wrong, or the files have no records.
  explicit RecordIndex(std::vector<std::string> paths);

  std::uint64_t size() const { return first_.back(); }
  const std::vector<std::string>& files() const { return open_.paths(); }
  std::uint64_t first_of(std::size_t file) const { return first_[file]; }
  std::uint64_t bytes() const;  // total size of all files

  // Calls use(record, data) for the records [first, first + count), numbered over all files, after
  // verifying the checksum. Adjacent records are read at once. `buffer` can be reused between calls
  // to avoid allocations. Throws UsageError if a checksum is wrong or a file was deleted or
  // truncated.
  using Use = std::function<void(std::uint64_t record, std::string_view data)>;
  void read(std::uint64_t first, std::uint64_t count, std::string& buffer, const Use& use) const;
  // Like the other overload, but if reading or using a record throws a UsageError, passes the error
  // message to `refuse` and continues with the next record. Throws only if a file cannot be opened.
  using Refuse = std::function<void(std::uint64_t record, const char* fault)>;
  void read(std::uint64_t first, std::uint64_t count, std::string& buffer, const Use& use,
            const Refuse& refuse) const;
  std::string read(std::uint64_t record) const;

  // Reads the records [first, first + count) with one read per file. The checksums are verified
  // later by checked().
  RecordBytes read_bytes(std::uint64_t first, std::uint64_t count) const;
  // Returns a record in `bytes` with its header and footer; it is truncated if the file was.
  std::string_view raw(const RecordBytes& bytes, std::uint64_t record) const;
  // Returns the data of such a record after verifying its checksum. Throws UsageError as read()
  // does.
  std::string_view checked(std::string_view raw, std::uint64_t record) const;

  // Returns "train.tfrecord: record 17", numbered within its file from 0.
  std::string place(std::uint64_t record) const;
  // Returns the offset of the record's first byte in its file.
  std::uint64_t offset(std::uint64_t record) const;
  const std::string& file_of_record(std::uint64_t record) const { return files()[file_of(record)]; }
  std::uint64_t number_in_file(std::uint64_t record) const {
    return record - first_[file_of(record)];
  }
  // Returns the number of tokens without padding, if the file's index stores it.
  std::optional<std::uint64_t> tokens(std::uint64_t record) const;

 private:
  struct File {
    io::RecordLayout layout;
    std::vector<std::uint64_t> marks;  // offset of every 64th record
  };
  std::size_t file_of(std::uint64_t record) const;
  std::uint64_t offset(std::size_t file, std::uint64_t record_in_file) const;
  File learn(const std::string& path);

  std::vector<std::uint64_t> first_{0};  // number of each file's first record; last, the total
  std::vector<File> layouts_;
  std::atomic_flag said_;  // set after logging that a file has no index
  mutable OpenFiles open_;
};

}  // namespace smelt::data
