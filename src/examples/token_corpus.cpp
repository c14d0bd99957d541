#include "examples/token_corpus.h"

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"

namespace smelt {

Json to_json(const CorpusCounts& c) {
  return {c.files,         c.documents,           c.sentences,       c.tokens,  c.unknown_tokens,
          c.dropped_bytes, c.duplicate_documents, c.duplicate_lines, c.bad_rows};
}

CorpusCounts corpus_counts(const Json& json) {
  return {.files = json[0],
          .documents = json[1],
          .sentences = json[2],
          .tokens = json[3],
          .unknown_tokens = json[4],
          .dropped_bytes = json[5],
          .bad_rows = json[8],
          .duplicate_documents = json[6],
          .duplicate_lines = json[7]};
}

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
