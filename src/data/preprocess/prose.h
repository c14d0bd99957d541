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

// Reads about `most_bytes` of each file and throws the UsageError that prepare_prose() would throw
// for them: bytes in another encoding, rows that cannot be read, too few documents. Only the first
// file is read if the text is remote or has a limit of lines.
void check_prose(const DocumentOptions& text, std::size_t most_bytes);

}  // namespace smelt
