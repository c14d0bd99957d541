// Vocabularies that are a tokenizer.json with a Unigram or BPE model, trained from text.
#pragma once

#include <string>

#include "data/preprocess/vocabulary_job.h"
#include "text/tokenizers/sentencepiece_trainer.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/word_counts.h"

namespace smelt {

// Trains job.type, which is unigram, bpe or byte_bpe. The five special tokens come first, then
// job.trainer.reserved and [unusedN]; what the text does not fill are more [unusedN]. Adds to the
// summary's words. Throws UsageError for text without words, and for a size without room for the
// characters.
SubwordFile train_subword_vocabulary(const VocabularyJob& job, SampledLines& lines,
                                     VocabularySummary& summary);

// Returns the type that suits the text: unigram if at least a fifth of its letters are of scripts
// that do not separate words by spaces, and neither U+200B nor a segment_command separates them,
// else wordpiece. Logs why. Reads the beginning of the text.
VocabularyType choose_vocabulary_type(const LinesOptions& text);

// Returns the SentencePiece normalization rule named `word`. For "auto", returns nfc if at least a
// fifth of the text's letters belong to scripts without spaces between words, because nmt_nfkc
// would replace their punctuation, else nmt_nfkc. Throws UsageError for an unknown name.
SentencePieceOptions::Rule choose_rule(const std::string& word, const LinesOptions& text);

}  // namespace smelt
