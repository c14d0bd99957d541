// Converts raw text to the input format of example builders: one sentence per line and a blank line
// between documents. Some documents are held out for evaluation.
#pragma once

#include <cstdint>
#include <string>

#include "text/readers/documents.h"

namespace smelt::data {

struct ProseJob {
  text::DocumentOptions text;
  std::string train_out, heldout_out;
  double heldout = 0.05;  // share of the documents, between 0 and 1
  std::uint64_t seed = 12345;
};

struct ProseSummary {
  std::int64_t documents = 0, heldout_documents = 0;
  std::int64_t sentences = 0, heldout_sentences = 0;
  text::DocumentCounts read;
};

// Splits the documents into a training and a held-out part, depending only on the seed and the
// documents' numbers; each part gets at least one. Logs a warning if the share of held-out
// sentences is less than half or more than twice the requested share. Throws UsageError if the
// corpus is empty or has only one document, or if the share is out of range.
ProseSummary prepare_prose(const ProseJob& job);

// Reads the beginning of each file, about `most_bytes` of text in total, and throws any UsageError
// that prepare_prose() would throw for it: wrong encoding, unreadable rows, too few documents.
// Reads only the first file if files are remote.
void check_prose(const text::DocumentOptions& text, std::uint64_t most_bytes);

}  // namespace smelt::data
