// First half of the shuffled order (data/preprocess/shuffled_order.h): tokenizes the documents once
// and writes them to disk by random key, so that any consecutive key ranges are a random sample of
// the corpus.
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

namespace smelt::data {

struct ScatteredDocuments {
  ExternalShuffle spill;
  CorpusCounts counts;
  IdCodec codec;
};

// Name of the file with the list of spilled ranges and the CorpusCounts. It is written once all
// documents are read, and a later run resumes from it.
inline constexpr const char* kDocumentsList = "documents.ranges";

// Numbers the documents in input order. A document's key depends only on its number and the seed.
// Each key range holds at most a quarter of group_bytes, unless it is a single larger document.
// Spill files are named documents-*. Resumes from the files of an interrupted run in the folder.
// `check` throws if no examples can be made from the text.
ScatteredDocuments scatter_documents(text::DocumentReader& reader, const text::Tokenizer& tokenizer,
                                     const ShuffleOptions& options,
                                     const std::function<void(const CorpusCounts&)>& check);

// Documents in the order of their numbers in the input.
struct DocumentGroup {
  TokenCorpus corpus;
  std::vector<std::uint64_t> numbers;
};

// Consecutive ranges of the spill files: those with the indices [first, last).
struct SpillRanges {
  std::size_t first = 0, last = 0;
};
// Splits the ranges into the fewest runs of about equal size. A run may exceed `group_bytes` by
// less than the size of its last range.
std::vector<SpillRanges> group_ranges(const std::vector<SpillRange>& ranges,
                                      std::uint64_t group_bytes);

DocumentGroup gather_documents(const ScatteredDocuments& documents, SpillRanges run);

}  // namespace smelt::data
