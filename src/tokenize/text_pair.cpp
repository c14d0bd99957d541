#include "tokenize/text_pair.h"

#include "base/error.h"

namespace smelt {
namespace {

// So that both together have at most `most` pieces.
void cut_longer(std::vector<std::int32_t>& a, std::vector<std::int32_t>& b, std::size_t most) {
  while (a.size() + b.size() > most) (a.size() > b.size() ? a : b).pop_back();
}

}  // namespace

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
  cut_longer(first, second, most_tokens_ - (second.empty() ? 2 : 3));
  TextPairIds out{.ids = {cls_}, .cut = pieces - first.size() - second.size()};
  out.ids.insert(out.ids.end(), first.begin(), first.end());
  out.ids.push_back(sep_);
  out.first = out.ids.size();
  if (second.empty()) return out;
  out.ids.insert(out.ids.end(), second.begin(), second.end());
  out.ids.push_back(sep_);
  return out;
}

}  // namespace smelt
