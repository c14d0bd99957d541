// The records of many TFRecord files as one list with random access.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class RecordIndex {
 public:
  // Reads every record's header (not its data) once. UsageError when a file is missing, cut short, has a
  // wrong length checksum, or when there is no record at all.
  explicit RecordIndex(std::vector<std::string> files);

  std::uint64_t size() const { return first_.back(); }
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t first_of(std::size_t file) const { return first_[file]; }

  // The data of a record, counted over all files in order. UsageError on a wrong checksum.
  std::string read(std::uint64_t record) const;
  // "train.tfrecord: record 17", counted within its file from 0.
  std::string place(std::uint64_t record) const;

 private:
  std::size_t file_of(std::uint64_t record) const;
  void scan(const std::string& path);

  std::vector<std::string> files_;
  std::vector<std::uint64_t> first_{0};               // record number at which each file begins; the total
  std::vector<std::vector<std::uint64_t>> offsets_;   // per file: its records' offsets; its size
};

}  // namespace smelt
