// The first half of the shuffled order: documents are tokenized once and scattered at random on
// disk, so that every run of the ranges of their keys is a random sample of the corpus.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/preprocess/external_shuffle.h"
#include "data/preprocess/id_codec.h"
#include "data/preprocess/shuffle_sizes.h"
#include "data/preprocess/token_corpus.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt {

struct ScatteredDocuments {
  ExternalShuffle spill;
  CorpusCounts counts;
  IdCodec codec;
};

// Saved when all documents are read, with their counts: from then on a killed run goes on.
inline constexpr const char* kDocumentsList = "documents.ranges";

// Numbers the documents as they come. A document's key depends on its number and the seed alone.
// No range is larger than a quarter of a group, but for a document that is. The spill's files are
// documents-*. What a killed run has left in the folder is gone on with. `check` throws where
// nothing can be made of so much text.
ScatteredDocuments scatter_documents(DocumentReader& reader, const Tokenizer& tokenizer,
                                     const ShuffleOptions& options,
                                     const std::function<void(const CorpusCounts&)>& check);

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
