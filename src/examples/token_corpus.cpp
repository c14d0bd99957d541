#include "examples/token_corpus.h"

#include "base/error.h"
#include "base/words.h"

namespace smelt {

void throw_no_text(std::size_t files) {
  throw UsageError(
      str("training data: the input holds no text (", counted(files, "file"), ")"),
      "give files with one sentence a line and a blank line between documents, or running text "
      "and --sentences prose");
}

void TokenCorpus::reserve(std::size_t documents, std::size_t sentences, std::size_t ids) {
  documents_.reserve(documents);
  ends_.reserve(sentences + 1);
  ids_.reserve(ids);
}

void TokenCorpus::add_sentence(std::span<const std::int32_t> ids) {
  if (ids.empty()) return;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ends_.push_back(ids_.size());
}

void TokenCorpus::end_document() {
  if (sentence_count() > document_start_) documents_.push_back({document_start_, sentence_count()});
  document_start_ = sentence_count();
}

}  // namespace smelt
