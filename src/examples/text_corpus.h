// Text files as token ids, read as google-research/bert's create_pretraining_data.py reads them: a
// line is a sentence, a blank line ends a document, the end of a file does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/sentence_pairs.h"
#include "examples/token_corpus.h"
#include "tokenize/wordpiece.h"

namespace smelt {

struct CorpusCounts {
  std::uint64_t files = 0, documents = 0, sentences = 0, tokens = 0, unknown_tokens = 0;
  std::uint64_t dropped_bytes = 0;                             // that were not UTF-8
  std::uint64_t duplicate_documents = 0, duplicate_lines = 0;  // left out
};

// UsageError: the input holds no text.
[[noreturn]] void throw_no_text(std::size_t files);

class CorpusReader {
 public:
  // UsageError when the vocabulary lacks a special token.
  CorpusReader(const std::string& vocab, const TokenizerFlags& flags);

  // UsageError when the files hold no token; with `strict` also when a line is not UTF-8.
  TokenCorpus read(const std::vector<std::string>& files, bool strict, CorpusCounts& counts) const;

  // Both live as long as the reader.
  const BertTokenizer& tokenizer() const { return tokenizer_; }
  const MaskVocabulary& mask_vocabulary() const { return mask_vocabulary_; }

 private:
  BertTokenizer tokenizer_;
  MaskVocabulary mask_vocabulary_;
};

}  // namespace smelt
