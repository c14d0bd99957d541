// The first half of the shuffled order: documents are tokenized once and scattered at random over
// buckets on disk, so that every run of buckets is a random sample of the corpus.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/id_codec.h"
#include "examples/spill.h"
#include "examples/text_corpus.h"
#include "examples/token_corpus.h"
#include "text/documents.h"
#include "tokenize/wordpiece.h"

namespace smelt {

constexpr std::size_t kDocumentBuckets = 1024;

struct DocumentBuckets {
  Spill spill;
  CorpusCounts counts;
};

struct ScatterOptions {
  std::string folder;  // local, for the spill files
  std::uint64_t seed = 0;
  int threads = 1;
  std::size_t memory = 0;  // bytes, for the buffers of all threads
};

// A document's bucket depends on its number and the seed alone.
DocumentBuckets scatter_documents(DocumentReader& reader, const BertTokenizer& tokenizer,
                                  const ScatterOptions& options);

// Documents in the corpus's order, and their numbers in the input.
struct DocumentGroup {
  TokenCorpus corpus;
  std::vector<std::uint64_t> numbers;
};
// The documents of the buckets [first, last), by number.
DocumentGroup gather_documents(const Spill& spill, std::size_t first, std::size_t last,
                               const IdCodec& codec);

}  // namespace smelt
