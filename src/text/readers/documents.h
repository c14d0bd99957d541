// Reads documents, split into sentences, from files of many formats, with bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/readers/duplicates.h"
#include "text/readers/line_source.h"

namespace smelt::text {

// The sentences of one document, concatenated in `text`; sentence i ends before ends[i].
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

// A document of prose ends with the paragraph that reaches one of these sizes, or within a
// paragraph of more than 16 kB.
constexpr std::size_t kProseSentences = 40, kProseBytes = std::size_t{64} << 10;

// Approximate maximum size of a document. A longer one is returned in several pieces.
constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;

enum class Cut { lines, prose };
enum class Dedup { none, lines, exact, near };

// Convert between values and their names. Throw UsageError "<what> '<word>' is unknown" for an
// unknown name.
Cut parse_sentences(std::string_view word, std::string_view what = "--sentences");
Dedup parse_dedup(std::string_view word, std::string_view what = "--dedup");
std::string_view name(Cut cut);
std::string_view name(Dedup dedup);

struct DocumentOptions {
  // Comma-separated files and patterns; .gz, .bz2 and .zst files are decompressed.
  std::string input;
  TextFormat format;
  // lines: each line is a sentence; in a text file an empty line ends a document. prose: an empty
  // line ends a paragraph, which is split into sentences by Unicode's rules; a document of a text
  // file ends at kProseSentences or kProseBytes. A row of JSONL, TSV, CSV or Parquet is one
  // document, unless it is longer than kMaxDocumentBytes.
  Cut sentences = Cut::lines;
  bool blanks_end_documents = true;  // false: in text files read by line, empty lines are ignored
  // What is deduplicated: nothing, repeated lines (in prose, paragraphs), or documents that match
  // an earlier document exactly or nearly (text/readers/duplicates.h). Only the most recent texts
  // that fit in dedup_memory bytes are compared. A warning is logged if older ones had to be
  // dropped.
  Dedup dedup = Dedup::none;
  std::size_t dedup_memory = kDuplicatesBytes;
  bool checks_lines = false;   // log a warning if lines hold more than text, as in a treebank
  std::int64_t max_lines = 0;  // maximum number of input lines or rows; 0: no limit
  TextLimits limits;           // limits on input that is skipped because it is invalid
  int threads = 0;             // reader threads; 0: one per core
};

struct DocumentCounts {
  std::uint64_t files = 0, documents = 0, sentences = 0, bytes = 0;
  std::uint64_t dropped_bytes = 0;                             // bytes that were not UTF-8
  std::uint64_t bad_rows = 0;                                  // rows that could not be read
  std::uint64_t duplicate_documents = 0, duplicate_lines = 0;  // skipped duplicates
  std::uint64_t divided_documents = 0;  // documents longer than kMaxDocumentBytes
};

class DocumentReader {
 public:
  // Throws UsageError if an option is out of range or a file is missing.
  explicit DocumentReader(const DocumentOptions& options);
  ~DocumentReader();

  // Reads the next document, which has at least one sentence; returns false at the end. The end of
  // a file or row ends a document. Sentences are stripped as by Python's str.strip() and never
  // empty. Throws UsageError with the file and line (or row) if malformed input exceeds the limits.
  // At the end, logs how many documents were split and, if max_lines was reached, the share of the
  // input that was read (unknown if a file was truncated by TextFormat::most_bytes).
  bool next(Document& document);
  // Returns whether a file was truncated because of TextFormat::most_bytes.
  bool was_truncated() const;
  const DocumentCounts& counts() const;
  const std::vector<std::string>& files() const;
  // Bytes of the files as stored, which may be compressed. total_bytes() queries the size of each
  // file.
  std::uint64_t bytes_read() const;
  std::uint64_t total_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smelt::text
