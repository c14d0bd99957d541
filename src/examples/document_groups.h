// The first half of the shuffled order: documents are tokenized once and scattered at random on
// disk, so that every run of the ranges of their keys is a random sample of the corpus.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/id_codec.h"
#include "examples/shuffle_sizes.h"
#include "examples/spill.h"
#include "examples/token_corpus.h"
#include "text/documents.h"
#include "tokenize/tokenizer.h"

namespace smelt {

struct ScatteredDocuments {
  Spill spill;
  CorpusCounts counts;
  IdCodec codec;
};

// Numbers the documents as they come. A document's key depends on its number and the seed alone.
// No range is larger than a quarter of a group, but for a document that is. The spill's files are
// documents-*.
ScatteredDocuments scatter_documents(DocumentReader& reader, const Tokenizer& tokenizer,
                                     const ShuffleOptions& options);

// Documents in the order of their numbers in the input.
struct DocumentGroup {
  TokenCorpus corpus;
  std::vector<std::uint64_t> numbers;
};

// Ranges [first, last) of a spill.
struct RangeRun {
  std::size_t first = 0, last = 0;
};
// Runs of about equal size, as few as there can be of `group_bytes`; none is larger than that and
// its largest range.
std::vector<RangeRun> group_ranges(const std::vector<SpillRange>& ranges,
                                   std::uint64_t group_bytes);

DocumentGroup gather_documents(const ScatteredDocuments& documents, RangeRun run);

}  // namespace smelt
