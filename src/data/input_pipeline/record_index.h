// The records of many TFRecord files as one list with random access.
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

namespace smelt {

// Threads that look into as many files; they mostly wait for the storage.
constexpr int kSideBySide = 16;

// "<first file>.work" is a folder while the files are being made.
constexpr std::string_view kWorkSuffix = ".work";

// A comma list of files and patterns -> the record files. What stands beside them under their own
// names and more, `x.tfrecord.json` and `x.tfrecord.index` of a pattern `x*`, is left out.
// UsageError when the making of the files has not ended.
std::vector<std::string> record_files(std::string_view patterns, std::string_view what);

// Neighbouring records as they lie in their files.
struct RecordBytes {
  struct Piece {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::string bytes;  // fewer than there should be when the file has shrunk
  };
  std::vector<Piece> pieces;  // one of each file
};

// Thread-safe. About 2 bytes of memory for each record.
class RecordIndex {
 public:
  // Learns from each file's index (data/input_pipeline/record_index_file.h) where its records are,
  // or, where there is none, from all headers. UsageError when a file is missing, cut short, has a
  // wrong length checksum, or when there is no record.
  explicit RecordIndex(std::vector<std::string> paths);

  std::uint64_t size() const { return first_.back(); }
  const std::vector<std::string>& files() const { return open_.paths(); }
  std::uint64_t first_of(std::size_t file) const { return first_[file]; }
  std::uint64_t bytes() const;  // of all files

  // Calls use(record, data) for the records [first, first + count), counted over all files in
  // order, with the data's checksum right. Neighbours are read at once. `buffer` may be used again
  // for the next call, which saves an allocation. UsageError for a wrong checksum, a file that
  // vanished or shrank.
  using Use = std::function<void(std::uint64_t record, std::string_view data)>;
  void read(std::uint64_t first, std::uint64_t count, std::string& buffer, const Use& use) const;
  // The same, but of a record for whose bytes, or in whose use, a UsageError is thrown the words
  // are given to `refuse`, and the next one follows. Only a file that cannot be opened ends it.
  using Refuse = std::function<void(std::uint64_t record, const char* fault)>;
  void read(std::uint64_t first, std::uint64_t count, std::string& buffer, const Use& use,
            const Refuse& refuse) const;
  std::string read(std::uint64_t record) const;

  // The records [first, first + count), with one read of each file; what is in them is looked at by
  // checked().
  RecordBytes read_bytes(std::uint64_t first, std::uint64_t count) const;
  // A record that lies in `bytes`, with header and footer, cut short where the file was.
  std::string_view raw(const RecordBytes& bytes, std::uint64_t record) const;
  // The data of such a record, its checksum right. UsageError as of read().
  std::string_view checked(std::string_view raw, std::uint64_t record) const;

  // "train.tfrecord: record 17", counted within its file from 0.
  std::string place(std::uint64_t record) const;
  // Its first byte's place in its file.
  std::uint64_t offset(std::uint64_t record) const;
  const std::string& file_of_record(std::uint64_t record) const { return files()[file_of(record)]; }
  std::uint64_t number_in_file(std::uint64_t record) const {
    return record - first_[file_of(record)];
  }
  // Tokens without padding, when the file's index tells.
  std::optional<std::uint64_t> tokens(std::uint64_t record) const;

 private:
  struct File {
    RecordLayout layout;
    std::vector<std::uint64_t> marks;  // the offset of every 64th record
  };
  std::size_t file_of(std::uint64_t record) const;
  std::uint64_t offset(std::size_t file, std::uint64_t record_in_file) const;
  File learn(const std::string& path);

  std::vector<std::uint64_t> first_{0};  // record number at which each file begins; the total
  std::vector<File> layouts_;
  std::atomic_flag said_;  // that a file has no index
  mutable OpenFiles open_;
};

}  // namespace smelt
