#include "data/preprocess/token_corpus.h"

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"

namespace smelt::data {

text::UnknownCount unknown_count(const CorpusCounts& c) {
  return {.unknown = c.unknown_tokens, .tokens = c.tokens, .characters = c.unknown_characters};
}

void add_sentence(std::string_view sentence, std::span<const std::int32_t> ids,
                  const text::Tokenizer& tokenizer, CorpusCounts& counts) {
  const text::TextCount found =
      text::count_text(sentence, ids, tokenizer, counts.unknown_characters);
  counts.unknown_tokens += found.unknown_tokens;
  counts.characters += found.known_characters;
}

void add_text(const CorpusCounts& part, CorpusCounts& whole) {
  whole.documents += part.documents;
  whole.sentences += part.sentences;
  whole.tokens += part.tokens;
  whole.unknown_tokens += part.unknown_tokens;
  whole.characters += part.characters;
  whole.one_sentence += part.one_sentence;
  whole.long_sentences += part.long_sentences;
  text::add_counts(part.unknown_characters, whole.unknown_characters);
}

OrderedJson named_counts(const CorpusCounts& c) {
  return {{"files", c.files},
          {"documents", c.documents},
          {"sentences", c.sentences},
          {"tokens", c.tokens},
          {"unknown_tokens", c.unknown_tokens},
          {"characters", c.characters},
          {"dropped_bytes", c.dropped_bytes},
          {"bad_rows", c.bad_rows},
          {"duplicate_documents", c.duplicate_documents},
          {"duplicate_lines", c.duplicate_lines}};
}

Json to_json(const CorpusCounts& c) {
  Json unknown = Json::array();
  for (const auto& [character, count] : c.unknown_characters)
    unknown.push_back({static_cast<std::uint32_t>(character), count});
  return {c.files,         c.documents,           c.sentences,       c.tokens,   c.unknown_tokens,
          c.dropped_bytes, c.duplicate_documents, c.duplicate_lines, c.bad_rows, c.characters,
          unknown,         c.one_sentence,        c.long_sentences};
}

CorpusCounts corpus_counts(const Json& json) {
  CorpusCounts out{.files = json[0],
                   .documents = json[1],
                   .sentences = json[2],
                   .tokens = json[3],
                   .unknown_tokens = json[4],
                   .dropped_bytes = json[5],
                   .bad_rows = json[8],
                   .duplicate_documents = json[6],
                   .duplicate_lines = json[7],
                   .characters = json[9],
                   .one_sentence = json[11],
                   .long_sentences = json[12]};
  for (const Json& item : json[10].elements())
    out.unknown_characters[item[0].get<std::uint32_t>()] = item[1];
  return out;
}

void throw_no_text(std::size_t files) {
  throw UsageError(
      str("input: the input holds no text (", counted(files, "file"), ")"),
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

}  // namespace smelt::data
