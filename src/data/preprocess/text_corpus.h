// Text files as token ids, read as google-research/bert's create_pretraining_data.py reads them: a
// line is a sentence, a blank line ends a document, the end of a file does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/sentence_pairs.h"
#include "data/preprocess/token_corpus.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

class CorpusReader {
 public:
  // With `blank_words`, the blank lines at the vocabulary's end are a word that masks may draw, as
  // in the original program, which is logged as a warning. UsageError when the vocabulary lacks a
  // special token.
  CorpusReader(const std::string& vocab, const TokenizerFlags& flags, bool blank_words = false);

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
