// The index file <file>.index of a TFRecord file (docs/reference/formats/record_index.md): the
// positions and lengths of its records, which would otherwise require reading the whole file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/filesystem/random_access_file.h"
#include "io/formats/record_layout.h"

namespace smelt::data {

std::string record_index_path(const std::string& records);

// Builds an index while records are written.
class RecordIndexBuilder {
 public:
  // Adds a record in the format of append_record(). `tokens` is its number of tokens without
  // padding, which must be given for all records or for none.
  void add(std::string_view record, std::optional<std::uint64_t> tokens);
  // Appends the records of `later` to this index.
  void append(const RecordIndexBuilder& later);
  // Writes the index of the file `records`, which must hold the added records.
  void write(const std::string& records) const;
  void clear() { layout_ = {}; }

 private:
  io::RecordLayout layout_;
};

// Builds the layout from the record headers. Throws UsageError if a record is truncated or has a
// wrong length checksum.
io::RecordLayout scan_records(const io::RandomAccessFile& file);

// Loads the file's index. Returns nullopt if it does not exist, or, with a warning, if it is
// damaged or belongs to another file.
std::optional<io::RecordLayout> load_record_index(const io::RandomAccessFile& file);

}  // namespace smelt::data
