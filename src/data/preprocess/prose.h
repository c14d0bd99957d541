// Raw text into the form that example builders read: one sentence a line, a blank line between
// documents; some documents are held out for evaluation.
#pragma once

#include <cstdint>
#include <string>

#include "text/readers/documents.h"

namespace smelt {

struct ProseJob {
  DocumentOptions text;
  std::string train_out, heldout_out;
  double heldout = 0.05;  // share of the documents, above 0 and below 1
  std::uint64_t seed = 12345;
};

struct ProseSummary {
  std::int64_t documents = 0, heldout_documents = 0;
  std::int64_t sentences = 0, heldout_sentences = 0;
  DocumentCounts read;
};

// Which documents are held out depends on the seed and their number alone; at least one stays on
// each side. Where the held-out share of the sentences is not within twice or half of what is
// asked, one warning says both. UsageError for an empty corpus, one of a single document or a share
// out of range.
ProseSummary prepare_prose(const ProseJob& job);

// Reads the beginning of each file, about `most_bytes` of text in all, and throws the UsageError
// that prepare_prose() would throw for it: bytes in another encoding, rows that cannot be read, too
// few documents. Of remote files only the first one is read.
void check_prose(const DocumentOptions& text, std::uint64_t most_bytes);

}  // namespace smelt
