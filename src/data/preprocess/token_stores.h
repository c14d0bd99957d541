// Token stores (docs/reference/formats/token_store.md) of text and of snapshot folders.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/token_corpus.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

struct TextTokensJob {
  DocumentOptions text;
  std::string vocab;  // of any tokenizer (text/tokenizers/tokenizer.h)
  TokenizerFlags tokenizer;
  std::string document_end;  // a piece put behind each document; empty: none
  std::string output;
  int threads = 0;  // 0: all cores
  bool overwrite = false;
};

// The tokens of all documents in the order of the input, the same bytes for any number of threads.
// Memory: a few MB for each thread, and 8 bytes for each document. UsageError for text that cannot
// be read, a piece that the vocabulary lacks, an output that is there.
CorpusCounts write_text_tokens(const TextTokensJob& job);

struct SnapshotTokensJob {
  std::string input;   // comma list of snapshot folders and patterns
  std::string output;  // a file; of several folders a pattern, whose * stands for each one's name
  std::string vocab;   // that the ids are of, if known: what tells their number
  int threads = 0;
  bool overwrite = false;
  bool skip_existing = false;  // which are whole: a store appears only then
};

struct ConvertedSnapshot {
  std::string input, output;
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t bytes = 0;  // of the store
};

// The same tokens in the same order, one store for each folder; the lists of a snapshot of lists
// are documents. `done` is told of each when it is there, one at a time, in any order. UsageError
// as of SnapshotReader, for ids that the vocabulary lacks, once all other folders are converted;
// and, before any is, for outputs that are there or are not told apart.
void convert_snapshots(const SnapshotTokensJob& job,
                       const std::function<void(const ConvertedSnapshot&)>& done);

}  // namespace smelt
