// Reads the lines of one file in batches. Lines are cleaned; faults are reported at their position.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/readers/bad_row_limit.h"
#include "text/readers/rows.h"

namespace smelt::text {

// Unicode normalization of the input text: none, or NFC.
enum class Normalization { none, nfc };
// Throws UsageError "<what> '<word>' is unknown" for an unknown name.
Normalization parse_normalization(std::string_view word, std::string_view what = "--normalize");
std::string_view name(Normalization normalization);

// File format, text field and other settings of the input files.
struct TextFormat {
  FileFormat file = FileFormat::by_name;
  std::string field = "text";  // name of the field with the text; not used for plain text files
  Normalization normalize = Normalization::none;
  std::uint64_t most_bytes = 0;  // bytes to read of each file, rounded up to a whole line; 0: all
};

struct LineBatch {
  // A line of text, or the end of a row, which has no text.
  struct Item {
    std::size_t end = 0;  // end in `text`
    bool ends_row = false;
  };
  struct PlacedFault {
    std::size_t item = 0;  // index of the item that follows the fault
    TextFault fault;
  };

  std::string text;
  std::vector<Item> items;
  std::vector<PlacedFault> faults;
  bool has_rows = false;         // false: a plain text file
  std::uint64_t bytes_read = 0;  // bytes of the file read so far
  bool last = false;             // whether this is the last batch of the file
  bool truncated = false;        // set on the last batch if the file was truncated (most_bytes)
  // Set on the last batch if reading failed. The consumer throws it after it has used all items.
  std::exception_ptr failure = nullptr;
};

// Maximum text bytes of a batch; a longer line is a separate batch.
constexpr std::size_t kLineBatchBytes = std::size_t{256} << 10;

// Passes all batches of a file to `put` until it returns false; there is always a last batch. Lines
// are stripped as by Python's str.strip(). In text files a lone '\r' also ends a line. An error
// while reading is stored in the last batch's `failure`.
void read_line_batches(const std::string& path, const TextFormat& format,
                       const std::function<bool(LineBatch)>& put);

}  // namespace smelt::text
