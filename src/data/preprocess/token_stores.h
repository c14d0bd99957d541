// Writes token stores (docs/reference/formats/token_store.md) from text and from snapshot folders.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/token_corpus.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

struct TextTokensJob {
  text::DocumentOptions text;
  std::string vocab;  // vocabulary of any tokenizer (text/tokenizers/tokenizer.h)
  text::TokenizerFlags tokenizer;
  std::string document_end;  // piece to append to each document; empty: none
  std::string output;
  int threads = 0;  // 0: all cores
  bool overwrite = false;
};

// Writes the tokens of all documents in input order. The result does not depend on the number of
// threads. Needs a few MB of memory per thread and 8 bytes per document. Throws UsageError if the
// text cannot be read, the vocabulary lacks the piece, or the output exists.
CorpusCounts write_text_tokens(const TextTokensJob& job);

struct SnapshotTokensJob {
  std::string input;  // comma-separated snapshot folders and patterns
  // a file; for several folders a pattern, in which * is replaced by each folder's name
  std::string output;
  std::string vocab;  // vocabulary of the ids, if known; gives the number of ids
  int threads = 0;
  bool overwrite = false;
  bool skip_existing = false;  // skip folders whose store exists; stores are written atomically
};

struct ConvertedSnapshot {
  std::string input, output;
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t bytes = 0;  // size of the store
};

// Writes one store per folder with the same tokens in the same order. The lists of a snapshot of
// lists become documents. Calls `done` when a store is complete, one call at a time, in any order.
// Throws UsageError before any work if outputs exist or two would have the same name. If a folder
// cannot be read (SnapshotReader) or has ids that are not in the vocabulary, converts the other
// folders and then throws UsageError.
void convert_snapshots(const SnapshotTokensJob& job,
                       const std::function<void(const ConvertedSnapshot&)>& done);

}  // namespace smelt::data
