// A corpus as token ids: documents of sentences, with all tokens in one array.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {

// A range of tokens in a corpus.
struct TokenRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

// Statistics of the text read.
struct CorpusCounts {
  std::uint64_t files = 0, documents = 0, sentences = 0, tokens = 0, unknown_tokens = 0;
  std::uint64_t dropped_bytes = 0;                             // bytes that were not UTF-8
  std::uint64_t bad_rows = 0;                                  // rows that could not be read
  std::uint64_t duplicate_documents = 0, duplicate_lines = 0;  // skipped duplicates
  std::uint64_t characters = 0;                                // code points outside unknown words
  text::CharacterCounts unknown_characters = {};               // characters without a piece
  std::uint64_t one_sentence = 0;                              // documents with one sentence
  std::uint64_t long_sentences = 0;  // sentences split because examples are much shorter
};

text::UnknownCount unknown_count(const CorpusCounts& counts);
// Adds the characters and unknown tokens of a sentence with tokens `ids`.
void add_sentence(std::string_view sentence, std::span<const std::int32_t> ids,
                  const text::Tokenizer& tokenizer, CorpusCounts& counts);
// Adds the counts of another part of the same text.
void add_text(const CorpusCounts& part, CorpusCounts& whole);

// Returns the counts by name, as --json prints them (docs/reference/json.md).
OrderedJson named_counts(const CorpusCounts& counts);
// Returns the counts as a work folder stores them.
Json to_json(const CorpusCounts& counts);
CorpusCounts corpus_counts(const Json& json);  // inverse of to_json()

// Throws UsageError: the input contains no text.
[[noreturn]] void throw_no_text(std::size_t files);

class TokenCorpus {
 public:
  // Sentences [first, last) of one document; at least one.
  struct Document {
    std::uint64_t first = 0, last = 0;
    std::uint64_t size() const { return last - first; }
  };

  void reserve(std::size_t documents, std::size_t sentences, std::size_t ids);
  // Adds a sentence; ignored if it has no tokens.
  void add_sentence(std::span<const std::int32_t> ids);
  // Ends the current document; ignored if it has no sentences.
  void end_document();

  std::vector<Document>& documents() { return documents_; }
  const std::vector<Document>& documents() const { return documents_; }
  std::uint64_t sentence_count() const { return ends_.size() - 1; }

  // Returns the token range of sentences [first, last), which is contiguous.
  TokenRange tokens(std::uint64_t first, std::uint64_t last) const {
    return {ends_[first], ends_[last]};
  }
  std::span<const std::int32_t> ids(TokenRange range) const {
    return std::span(ids_).subspan(range.begin, range.size());
  }
  std::span<const std::int32_t> ids() const { return ids_; }

 private:
  std::vector<std::int32_t> ids_;
  std::vector<std::uint64_t> ends_{0};  // sentence i is [ends_[i], ends_[i + 1])
  std::vector<Document> documents_;
  std::uint64_t document_start_ = 0;
};

}  // namespace smelt::data
