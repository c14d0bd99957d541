// Reads text files as token ids like google-research/bert's create_pretraining_data.py: each line
// is a sentence, and a blank line ends a document, but the end of a file does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/sentence_pairs.h"
#include "data/preprocess/token_corpus.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {

class CorpusReader {
 public:
  // With `blank_words`, blank lines at the end of the vocabulary file are a word that may replace a
  // masked one, as in the original program; a warning is logged. Throws UsageError if the
  // vocabulary lacks a special token.
  CorpusReader(const std::string& vocab, const text::TokenizerFlags& flags,
               bool blank_words = false);

  // Throws UsageError if the files have no tokens, or, with `strict`, if a line is not UTF-8.
  TokenCorpus read(const std::vector<std::string>& files, bool strict, CorpusCounts& counts) const;

  // Both are owned by the reader.
  const text::BertTokenizer& tokenizer() const { return tokenizer_; }
  const MaskVocabulary& mask_vocabulary() const { return mask_vocabulary_; }

 private:
  text::BertTokenizer tokenizer_;
  MaskVocabulary mask_vocabulary_;
};

}  // namespace smelt::data
