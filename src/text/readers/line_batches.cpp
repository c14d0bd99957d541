#include "text/readers/line_batches.h"

#include <algorithm>
#include <utility>

#include "base/choice.h"
#include "base/str.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

constexpr NamedValues<Normalization, 2> kNormalizations{
    {{"none", Normalization::none}, {"nfc", Normalization::nfc}}};

using PutBatch = std::function<bool(LineBatch)>;

class BatchMaker {
 public:
  BatchMaker(const std::string& path, bool has_rows, const TextFormat& format, const PutBatch& put)
      : put_(put), encoding_(path), has_rows_(has_rows), format_(format) {
    batch_.has_rows = has_rows;
  }

  void add_line(std::string_view line) {
    encoding_.add_text(line.size());
    text_bytes_ += line.size() + 1;
    if (format_.normalize == Normalization::nfc && !is_ascii(line))
      batch_.text += nfc(std::string(line));
    else
      batch_.text += line;
    batch_.items.push_back({.end = batch_.text.size()});
  }
  void end_row() { batch_.items.push_back({.end = batch_.text.size(), .ends_row = true}); }
  void add(const TextFault& fault) {
    batch_.faults.push_back({.item = batch_.items.size(), .fault = fault});
    encoding_.add(fault);
  }
  // Passes a full batch to the consumer; called between lines or rows. Returns false if the
  // consumer wants no more.
  bool pass_on(std::uint64_t bytes_read) {
    batch_.bytes_read = bytes_read;
    truncated_ = format_.most_bytes > 0 && text_bytes_ >= format_.most_bytes;
    if (truncated_) return false;
    constexpr std::size_t kMostItems = kLineBatchBytes / sizeof(LineBatch::Item);
    if (batch_.text.size() < kLineBatchBytes && batch_.items.size() < kMostItems &&
        batch_.faults.size() < kMostItems / 16)
      return true;
    const bool wanted = put_(std::move(batch_));
    batch_ = {};
    batch_.has_rows = has_rows_;
    batch_.bytes_read = bytes_read;
    return wanted;
  }
  void finish(std::exception_ptr failure) {
    batch_.last = true;
    batch_.truncated = truncated_;
    batch_.failure = std::move(failure);
    put_(std::move(batch_));
  }

 private:
  const PutBatch& put_;
  EncodingCheck encoding_;
  bool has_rows_, truncated_ = false;
  const TextFormat& format_;
  std::uint64_t text_bytes_ = 0;
  LineBatch batch_;
};

void read_text(const std::string& path, BatchMaker& batches) {
  LineReader lines(path);
  const FaultSink faults = [&](const TextFault& fault) { batches.add(fault); };
  for (std::string line; lines.next(line);) {
    clean_text(line, lines.number(), faults);
    while (line.ends_with('\r')) line.pop_back();
    for (const std::string_view part : smelt::split(line, '\r'))
      batches.add_line(python_strip(part));
    if (!batches.pass_on(lines.bytes_read())) return;
  }
  batches.pass_on(lines.bytes_read());
}

void read_rows(const std::string& path, const TextFormat& format, BatchMaker& batches) {
  const auto rows = open_rows(path, format.file, {{.name = format.field}},
                              [&](const TextFault& fault) { batches.add(fault); });
  for (std::vector<std::string> row; rows->next(row);) {
    for (std::string_view rest = row.front(); !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      batches.add_line(python_strip(rest.substr(0, end)));
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    batches.end_row();
    if (!batches.pass_on(rows->bytes_read())) return;
  }
  batches.pass_on(rows->bytes_read());
}

}  // namespace

Normalization parse_normalization(std::string_view word, std::string_view what) {
  return choose_of(what, word, kNormalizations);
}

std::string_view name(Normalization normalization) {
  return word_of(normalization, kNormalizations);
}

void read_line_batches(const std::string& path, const TextFormat& format, const PutBatch& put) {
  const bool has_rows = format_of(path, format.file) != FileFormat::text;
  BatchMaker batches(path, has_rows, format, put);
  std::exception_ptr failure;
  try {
    has_rows ? read_rows(path, format, batches) : read_text(path, batches);
  } catch (...) {
    failure = std::current_exception();
  }
  batches.finish(std::move(failure));
}

}  // namespace smelt::text
