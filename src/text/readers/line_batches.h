// The lines of one file in batches, as a thread hands them over: cleaned, with what was wrong with
// them in its place.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/readers/bad_row_limit.h"
#include "text/readers/rows.h"

namespace smelt {

// What is done to the characters of a text: nothing, or their composition (NFC), after which the
// same text has the same characters whatever program wrote it.
enum class Normalization { none, nfc };
// UsageError "<what> '<word>' is unknown".
Normalization parse_normalization(std::string_view word, std::string_view what = "--normalize");
std::string_view name(Normalization normalization);

// How to find the text in a file.
struct TextFormat {
  FileFormat file = FileFormat::by_name;
  std::string field = "text";  // where the text is in a file of rows
  Normalization normalize = Normalization::none;
  std::uint64_t most_bytes = 0;  // of text to read of each file, to its next line; 0: all
};

struct LineBatch {
  // A line of text, or the end of a row, which has none.
  struct Item {
    std::size_t end = 0;  // in text
    bool ends_row = false;
  };
  struct PlacedFault {
    std::size_t item = 0;  // before which it stands
    TextFault fault;
  };

  std::string text;
  std::vector<Item> items;
  std::vector<PlacedFault> faults;
  bool has_rows = false;                 // else the file is plain text
  std::uint64_t bytes_read = 0;          // of the file so far
  bool last = false;                     // of the file
  bool truncated = false;                // the last one: TextFormat::most_bytes ended the file
  std::exception_ptr failure = nullptr;  // behind all items of the last batch
};

// Text of a batch; a line that is longer is one.
constexpr std::size_t kLineBatchBytes = std::size_t{256} << 10;

// Hands over all batches of a file, the last one in any case, until `put` returns false. Lines are
// stripped as str.strip() does. In text files a lone '\r' ends a line, too. What cannot be read at
// all is the last batch's failure.
void read_line_batches(const std::string& path, const TextFormat& format,
                       const std::function<bool(LineBatch)>& put);

}  // namespace smelt
