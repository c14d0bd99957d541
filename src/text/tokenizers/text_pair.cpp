#include "text/tokenizers/text_pair.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::text {
namespace {

// Truncates the texts until both together have at most `most` pieces.
void cut_longer(std::vector<std::int32_t>& a, std::vector<std::int32_t>& b, std::size_t most) {
  while (a.size() + b.size() > most) (a.size() > b.size() ? a : b).pop_back();
}

}  // namespace

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  for (const std::string_view word : smelt::split(text, ' '))
    if (!word.empty()) out.push_back(word);
  return out;
}

TextPairEncoder::TextPairEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens)
    : tokenizer_(tokenizer),
      most_tokens_(static_cast<std::size_t>(most_tokens)),
      cls_(tokenizer.vocabulary().id("[CLS]")),
      sep_(tokenizer.vocabulary().id("[SEP]")) {
  CHECK(most_tokens >= 5, most_tokens);
}

TextPairIds TextPairEncoder::encode(std::string_view a, std::string_view b) const {
  std::vector<std::int32_t> first = tokenizer_.encode(a), second = tokenizer_.encode(b);
  const std::size_t pieces = first.size() + second.size();
  const std::size_t separators = tokenizer_.vocabulary().separators();
  cut_longer(first, second, most_tokens_ - (second.empty() ? 2 : 2 + separators));
  TextPairIds out{.ids = {cls_}, .cut = pieces - first.size() - second.size()};
  out.ids.insert(out.ids.end(), first.begin(), first.end());
  out.ids.push_back(sep_);
  out.first = out.ids.size();
  if (second.empty()) return out;
  out.ids.insert(out.ids.end(), separators - 1, sep_);
  out.ids.insert(out.ids.end(), second.begin(), second.end());
  out.ids.push_back(sep_);
  return out;
}

TextPairIds TextPairEncoder::encode_words(std::span<const std::string_view> words) const {
  TextPairIds out{.ids = {cls_}};
  for (const std::string_view word : words) {
    out.words.push_back(out.ids.size());
    tokenizer_.encode_words(word, out.ids);
    if (out.ids.size() == out.words.back()) out.ids.push_back(tokenizer_.unknown());
  }
  const std::size_t kept = std::min(out.ids.size(), most_tokens_ - 1);
  out.cut = out.ids.size() - kept;
  out.ids.resize(kept);
  while (!out.words.empty() && out.words.back() >= kept) out.words.pop_back();
  out.ids.push_back(sep_);
  out.first = out.ids.size();
  return out;
}

}  // namespace smelt::text
