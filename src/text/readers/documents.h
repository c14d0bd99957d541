// Documents of sentences from files of many formats, one document at a time in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/readers/duplicates.h"
#include "text/readers/line_source.h"

namespace smelt {

// The sentences of one document, one after another in `text`; sentence i ends before ends[i].
struct Document {
  std::string text;
  std::vector<std::size_t> ends;

  std::size_t size() const { return ends.size(); }
  std::string_view sentence(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }
  void add(std::string_view sentence) {
    text += sentence;
    ends.push_back(text.size());
  }
  void clear() {
    text.clear();
    ends.clear();
  }
};

constexpr std::size_t kProseSentences = 40;

// A longer document is handed out in pieces of about this size, so that memory stays bounded.
constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;

enum class Cut { lines, prose };
enum class Dedup { none, lines, exact, near };

// Their words. UsageError "<what> '<word>' is unknown" for another one.
Cut parse_sentences(std::string_view word, std::string_view what = "--sentences");
Dedup parse_dedup(std::string_view word, std::string_view what = "--dedup");
std::string_view name(Cut cut);
std::string_view name(Dedup dedup);

struct DocumentOptions {
  std::string input;  // comma list of files and patterns; .gz, .bz2 and .zst are unpacked
  TextFormat format;
  // lines: a line is a sentence; in text files an empty line ends a document. prose: an empty line
  // ends a paragraph, which is cut into sentences by Unicode's rules; a document of a text
  // file ends with the paragraph that gives it kProseSentences. A row of JSONL, TSV, CSV or Parquet
  // is always one document.
  Cut sentences = Cut::lines;
  bool blanks_end_documents = true;  // false: an empty line of a text file in lines is nothing
  // What is left out: lines (in prose: paragraphs) that stood before; documents that stood before,
  // exact or near (text/readers/duplicates.h), among the last ones that dedup_memory, in bytes,
  // holds: what comes out depends on it where it does not hold all, of which one warning tells.
  Dedup dedup = Dedup::none;
  std::size_t dedup_memory = kDuplicatesBytes;
  std::int64_t max_lines = 0;  // stop after so many lines (rows) of input in all; 0: no limit
  TextLimits limits;           // of what is left out because it cannot be read
  int threads = 0;             // that read; 0: as many as there are cores
};

struct DocumentCounts {
  std::uint64_t files = 0, documents = 0, sentences = 0, bytes = 0;
  std::uint64_t dropped_bytes = 0;                             // that were not UTF-8
  std::uint64_t bad_rows = 0;                                  // that could not be read
  std::uint64_t duplicate_documents = 0, duplicate_lines = 0;  // left out
  std::uint64_t divided_documents = 0;  // that were longer than kMaxDocumentBytes
};

class DocumentReader {
 public:
  // UsageError for an option out of range, a missing file.
  explicit DocumentReader(const DocumentOptions& options);
  ~DocumentReader();

  // The next document, never empty; false at the end. The end of a file or of a row ends a
  // document. Sentences are stripped as Python's str.strip() does and never empty. UsageError
  // naming file and line (or row) for malformed input beyond the limits. At the end logs what was
  // not read as it stands: text behind max_lines, documents that were divided. If
  // TextFormat::most_bytes ended a file, the end is not reported, as the rest is unknown.
  bool next(Document& document);
  // Whether TextFormat::most_bytes has ended one of the files that were read.
  bool was_truncated() const;
  const DocumentCounts& counts() const;
  const std::vector<std::string>& files() const;
  // Of the files, packed ones as they are; the total asks the storage for each.
  std::uint64_t bytes_read() const;
  std::uint64_t total_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smelt
