// Trains vocabularies with a Unigram or BPE model, stored as tokenizer.json.
#pragma once

#include <string>

#include "data/preprocess/vocabulary_job.h"
#include "text/tokenizers/sentencepiece_trainer.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/word_counts.h"

namespace smelt::data {

// Trains job.type, which must be unigram, bpe or byte_bpe. The five special tokens come first, then
// job.trainer.reserved and [unusedN]; if the text gives too few pieces, more [unusedN] follow. Adds
// the number of words in the text to `summary.words`. Throws UsageError if the text has no words,
// or if the size is too small for the text's characters.
text::SubwordFile train_subword_vocabulary(const VocabularyJob& job, text::SampledLines& lines,
                                           VocabularySummary& summary);

// Returns the type that suits the text: wordpiece, unless at least a fifth of its letters belong to
// scripts without spaces between words, and neither U+200B nor a segment_command separates them.
// Then the type is bpe if most of these letters are Han or kana, else unigram. Logs the reason.
// Reads only the beginning of the text.
VocabularyType choose_vocabulary_type(const text::LinesOptions& text);

// Warns if most words of the text are not separated, so that word pieces do not suit it
// (choose_vocabulary_type()).
void warn_of_unseparated_words(const text::LinesOptions& text);

// Returns the SentencePiece normalization rule named `word`. For "auto", returns nfc if at least a
// fifth of the text's letters belong to scripts without spaces between words, because nmt_nfkc
// would replace their punctuation, else nmt_nfkc. Throws UsageError for an unknown name.
text::SentencePieceOptions::Rule choose_rule(const std::string& word,
                                             const text::LinesOptions& text);

}  // namespace smelt::data
