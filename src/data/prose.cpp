#include "data/prose.h"

#include <unordered_set>

#include "base/error.h"
#include "base/philox.h"
#include "text/lines.h"
#include "text/sentences.h"
#include "text/unicode.h"

namespace smelt {
namespace {

constexpr std::size_t kSentencesPerDocument = 40;

// Documents to one of two files, each followed by a blank line.
class DocumentWriter {
 public:
  DocumentWriter(const ProseJob& job, ProseSummary& summary)
      : job_(job), summary_(summary), train_(job.train_out), heldout_(job.heldout_out) {}

  void add(std::string sentence) { document_.push_back(std::move(sentence)); }
  std::size_t size() const { return document_.size(); }

  void end_document() {
    if (document_.empty()) return;
    const bool held_out = keep_out(summary_.documents++);
    summary_.heldout_documents += held_out ? 1 : 0;
    summary_.sentences += std::ssize(document_);
    OutputFile& out = held_out ? heldout_ : train_;
    for (const std::string& sentence : document_) out.write(sentence + "\n");
    out.write("\n");
    document_.clear();
  }

  void commit() {
    if (summary_.documents < 2)
      throw UsageError(str("text: ", job_.input, " holds ", summary_.documents,
                           " documents; at least 2 are needed, one of them for evaluation"),
                       "give more text; a document is about 40 sentences of one file");
    train_.commit();
    heldout_.commit();
  }

 private:
  // The first two documents go one to each side, the others by a draw.
  bool keep_out(std::int64_t number) const {
    if (number < 2) return number == 0;
    const auto bits = philox(random_key(job_.seed, "heldout"), number, 0)[0];
    return static_cast<double>(bits) < job_.heldout * 4294967296.0;
  }

  const ProseJob& job_;
  ProseSummary& summary_;
  OutputFile train_, heldout_;
  std::vector<std::string> document_;
};

class ProseReader {
 public:
  ProseReader(const ProseJob& job, ProseSummary& summary)
      : job_(job),
        summary_(summary),
        writer_(job, summary),
        utf8_(job.strict ? Utf8Filter::Mode::refuse : Utf8Filter::Mode::drop) {}

  void read(const std::string& path) {
    ++summary_.files;
    LineReader lines(path);
    std::string line;
    while (lines.next(line)) {
      utf8_.apply(line, lines);
      const std::string_view text = python_strip(line);
      job_.format == "prose" ? prose_line(text) : sentence_line(text);
    }
    if (job_.format == "prose") end_paragraph();
    writer_.end_document();
  }

  void finish() {
    utf8_.warn();
    writer_.commit();
  }

 private:
  void sentence_line(std::string_view text) {
    text.empty() ? writer_.end_document() : writer_.add(std::string(text));
  }

  void prose_line(std::string_view text) {
    if (text.empty()) return end_paragraph();
    if (!paragraph_.empty()) paragraph_ += ' ';
    paragraph_ += text;
    // A text without blank lines would be one paragraph: what ICU reads stays bounded.
    if (paragraph_.size() > kMaxLineBytes / 64) end_paragraph();
  }

  void end_paragraph() {
    if (paragraph_.empty()) return;
    if (!seen_.insert(random_key(0, paragraph_)).second) {
      ++summary_.duplicates_dropped;
    } else {
      sentences_.clear();
      splitter_.split(paragraph_, sentences_);
      for (std::string& sentence : sentences_) writer_.add(std::move(sentence));
      if (writer_.size() >= kSentencesPerDocument) writer_.end_document();
    }
    paragraph_.clear();
  }

  const ProseJob& job_;
  ProseSummary& summary_;
  DocumentWriter writer_;
  Utf8Filter utf8_;
  SentenceSplitter splitter_;
  std::string paragraph_;
  std::vector<std::string> sentences_;
  std::unordered_set<std::uint64_t> seen_;  // 64-bit hashes of paragraphs
};

void check(const ProseJob& job) {
  if (job.format != "prose" && job.format != "sentences")
    throw UsageError(str("text.format is '", job.format, "'"), "use prose or sentences");
  if (!(job.heldout > 0 && job.heldout < 1))
    throw UsageError(str("text.heldout is ", job.heldout, ", must be above 0 and below 1"), "0.05 is usual");
}

}  // namespace

ProseSummary prepare_prose(const ProseJob& job) {
  check(job);
  ProseSummary summary;
  ProseReader reader(job, summary);
  for (const std::string& path : expand_patterns(job.input, "text.input")) reader.read(path);
  if (summary.documents == 0)
    throw UsageError(str("text.input: ", job.input, " holds no text"), "give files with text");
  reader.finish();
  return summary;
}

}  // namespace smelt
