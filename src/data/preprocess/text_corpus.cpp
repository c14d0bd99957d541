#include "data/preprocess/text_corpus.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "text/readers/bad_row_limit.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"

namespace smelt::data {
namespace {

text::BertTokenizer load_checked(const std::string& vocab, const text::TokenizerFlags& flags) {
  text::BertTokenizer tokenizer = text::BertTokenizer::load(vocab, flags);
  tokenizer.vocabulary().check_special_tokens();
  return tokenizer;
}

MaskVocabulary make_mask_vocabulary(const text::BertTokenizer& tokenizer, bool blank_words) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  MaskVocabulary mask{.cls = vocabulary.id("[CLS]"),
                      .sep = vocabulary.id("[SEP]"),
                      .mask = vocabulary.id("[MASK]"),
                      .words = {},
                      .continues = {}};
  // The original draws from the keys of a dict, so equal lines are one key with the last id.
  std::unordered_map<std::string_view, std::size_t> keys;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    const auto [key, is_new] = keys.emplace(vocabulary.token(id), mask.words.size());
    if (is_new)
      mask.words.push_back(id);
    else
      mask.words[key->second] = id;
    mask.continues.push_back(tokenizer.continues_word(id));
  }
  if (vocabulary.rows() == vocabulary.size()) return mask;
  if (!blank_words)
    std::erase_if(mask.words, [&](std::int32_t id) { return id >= vocabulary.rows(); });
  else
    log_warning(
        "{}: ends with a blank line, whose id {} may replace a masked word, as in the original "
        "program: the model's vocab_size must be at least {}, although the text needs only {}",
        vocabulary.origin(), vocabulary.size() - 1, vocabulary.size(), vocabulary.rows());
  return mask;
}

}  // namespace

CorpusReader::CorpusReader(const std::string& vocab, const text::TokenizerFlags& flags,
                           bool blank_words)
    : tokenizer_(load_checked(vocab, flags)),
      mask_vocabulary_(make_mask_vocabulary(tokenizer_, blank_words)) {}

TokenCorpus CorpusReader::read(const std::vector<std::string>& files, bool strict,
                               CorpusCounts& counts) const {
  text::TextFaults faults({.strict = strict});
  TokenCorpus corpus;
  std::string line;
  for (const std::string& file : files) {
    text::LineReader lines(file);
    while (lines.next(line)) {
      const bool has_zeros = line.find('\0') != std::string::npos;
      faults.clean(line, file, lines.number());
      std::erase(line, '\r');  // as TensorFlow's readline does, which the original program uses
      const std::string_view sentence = text::python_strip(line);
      // Python's str.strip() keeps NUL bytes, so a line of them is not blank in the original.
      if (sentence.empty() && !has_zeros) corpus.end_document();
      const std::vector<std::int32_t> ids = tokenizer_.encode(sentence);
      if (!ids.empty()) add_sentence(sentence, ids, tokenizer_, counts);
      corpus.add_sentence(ids);
    }
  }
  corpus.end_document();
  faults.finish();
  counts.files = files.size();
  counts.documents = corpus.documents().size();
  counts.sentences = corpus.sentence_count();
  counts.tokens = corpus.ids().size();
  counts.dropped_bytes = faults.dropped_bytes();
  if (counts.documents == 0) throw_no_text(files.size());
  return corpus;
}

}  // namespace smelt::data
