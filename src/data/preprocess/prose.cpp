#include "data/preprocess/prose.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/philox.h"
#include "base/plural.h"
#include "base/progress.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

void check_document_count(const std::string& input, std::int64_t documents) {
  if (documents == 0)
    throw UsageError(str("text.input: ", input, " holds no text"), "give files with text");
  if (documents < 2)
    throw UsageError(str("text: ", input, " holds ", counted(documents, "document"),
                         "; at least 2 are needed, one of them for evaluation"),
                     str("give more text; a document of prose is about ", text::kProseSentences,
                         " sentences of one file"));
}

// Writes documents to one of two files, each followed by a blank line.
class DocumentWriter {
 public:
  DocumentWriter(const ProseJob& job, ProseSummary& summary)
      : job_(job), summary_(summary), train_(job.train_out), heldout_(job.heldout_out) {}

  void write(const text::Document& document) {
    const bool held_out = keep_out(summary_.documents++);
    summary_.heldout_documents += held_out ? 1 : 0;
    summary_.sentences += static_cast<std::int64_t>(document.size());
    if (held_out) summary_.heldout_sentences += static_cast<std::int64_t>(document.size());
    io::OutputFile& out = held_out ? heldout_ : train_;
    for (std::size_t i = 0; i < document.size(); ++i) {
      out.write(document.sentence(i));
      out.write("\n");
    }
    out.write("\n");
  }

  void commit() {
    check_document_count(job_.text.input, summary_.documents);
    train_.commit();
    heldout_.commit();
  }

 private:
  // Returns whether to hold out the document. Of the first two documents, one is held out; the
  // others are drawn at random.
  bool keep_out(std::int64_t number) const {
    if (number < 2) return number == 0;
    const auto bits =
        philox(random_key(job_.seed, "heldout"), static_cast<std::uint64_t>(number), 0)[0];
    return static_cast<double>(bits) < job_.heldout * 4294967296.0;
  }

  const ProseJob& job_;
  ProseSummary& summary_;
  io::OutputFile train_, heldout_;
};

// Logs a warning if the held-out share is inexact. Whole documents are held out, so a few
// documents, or one that is most of the text, cannot be split evenly.
void warn_of_uneven_share(const ProseJob& job, const ProseSummary& s) {
  const double share = static_cast<double>(s.heldout_sentences) / static_cast<double>(s.sentences);
  if (share <= 2 * job.heldout && share >= job.heldout / 2) return;
  log_warning(
      "text: {} of {} {} held out, with {} of {}: {:.1f} % of the text, but text.heldout is "
      "{:.1f} %; with more documents of similar length the share is more exact{}",
      s.heldout_documents, counted(s.documents, "document"),
      s.heldout_documents == 1 ? "is" : "are", s.heldout_sentences,
      counted(s.sentences, "sentence"), 100 * share, 100 * job.heldout,
      job.text.sentences == text::Cut::prose
          ? "; if your text has a sentence a line, use --set text.sentences=lines"
          : "");
}

}  // namespace

ProseSummary prepare_prose(const ProseJob& job) {
  if (!(job.heldout > 0 && job.heldout < 1))
    throw UsageError(str("text.heldout is ", job.heldout, ", must be above 0 and below 1"),
                     "0.05 is usual");
  ProseSummary summary;
  text::DocumentOptions text = job.text;
  text.checks_lines = true;
  text::DocumentReader reader(text);
  DocumentWriter writer(job, summary);
  {
    Progress progress("sentences", static_cast<std::int64_t>(reader.total_bytes()),
                      Progress::kBytes);
    for (text::Document document; reader.next(document);) {
      writer.write(document);
      progress.update(static_cast<std::int64_t>(reader.bytes_read()));
    }
  }
  writer.commit();
  summary.read = reader.counts();
  warn_of_uneven_share(job, summary);
  return summary;
}

void check_prose(const text::DocumentOptions& text, std::uint64_t most_bytes) {
  constexpr std::uint64_t kLeastBytesOfFile = 1 << 14, kMostBytesOfFile = 1 << 20;
  const auto files = io::expand_files(text.input, "input");
  text::DocumentOptions part = text;
  part.format.most_bytes =
      std::clamp<std::uint64_t>(most_bytes / files.size(), kLeastBytesOfFile, kMostBytesOfFile);
  part.limits.quiet = true;
  bool is_all = true;
  if (io::is_remote(files.front()) && files.size() > 1) {
    if (files.front().find_first_of(",*?[") != std::string::npos)
      return;  // a name with a comma cannot be written as a pattern, so this file is not checked
    part.input = files.front();
    is_all = false;
  }
  text::DocumentReader reader(part);
  std::int64_t documents = 0;
  for (text::Document document; reader.next(document);) ++documents;
  if (is_all && !reader.was_truncated()) check_document_count(text.input, documents);
}

}  // namespace smelt::data
