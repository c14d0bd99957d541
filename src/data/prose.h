// Raw text into the form that example builders read: one sentence a line, a blank line between documents;
// some documents are held out for evaluation.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct ProseJob {
  std::string input;  // comma list of files and patterns
  std::string train_out, heldout_out;
  // "prose": paragraphs between blank lines are cut into sentences; a document is about 40 sentences of one
  // file. "sentences": lines and documents are as they stand.
  std::string format = "prose";
  double heldout = 0.05;  // share of the documents, above 0 and below 1
  std::uint64_t seed = 12345;
  bool strict = false;  // refuse text that is not UTF-8, rather than to drop those bytes and warn
};

struct ProseSummary {
  std::int64_t files = 0, documents = 0, heldout_documents = 0, sentences = 0;
  std::int64_t duplicates_dropped = 0;  // paragraphs of prose that stood before, to the letter
};

// Which documents are held out depends on the seed and their number alone; at least one stays on each side.
// UsageError for an empty corpus, one of a single document, an unknown format or a share out of range.
ProseSummary prepare_prose(const ProseJob& job);

}  // namespace smelt
