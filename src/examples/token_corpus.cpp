#include "examples/token_corpus.h"

namespace smelt {

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
