// <file>.index beside a TFRecord file (docs/reference/formats/record_index.md): where its records
// are and how long they are, so that nobody needs to walk through the file to find out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/filesystem/random_access_file.h"
#include "io/formats/record_layout.h"

namespace smelt {

std::string record_index_path(const std::string& records);

// Takes records as they are written.
class RecordIndexBuilder {
 public:
  // The next record as append_record made it, and how many of its tokens are no padding, if that is
  // known of all.
  void add(std::string_view record, std::optional<std::uint64_t> tokens);
  // The records of `later` follow those of this.
  void append(const RecordIndexBuilder& later);
  // Writes the index of the file `records`, which holds what was added.
  void write(const std::string& records) const;
  void clear() { layout_ = {}; }

 private:
  RecordLayout layout_;
};

// Walks through the headers. UsageError when a record is cut short or has a wrong length checksum.
RecordLayout scan_records(const RandomAccessFile& file);

// What stands in the file's index; nullopt when there is none, or, with a warning, when it is
// damaged or another file's.
std::optional<RecordLayout> load_record_index(const RandomAccessFile& file);

}  // namespace smelt
