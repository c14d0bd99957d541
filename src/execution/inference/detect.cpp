#include "execution/inference/detect.h"

#include <algorithm>

#include "base/error.h"
#include "execution/inference/answer_spans.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::execution {
namespace {

struct DetectTexts {
  // The tokens of each text; probabilities still unset.
  std::vector<std::vector<JudgedToken>> judged;
  std::vector<TokenRow> rows;  // with [CLS] and [SEP]
  std::int64_t longest = 0;
};

DetectTexts encode_texts(std::int64_t max_tokens, const text::BertTokenizer& tokenizer,
                         const std::vector<std::string>& texts) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  DetectTexts out;
  text::UnknownCount counted;
  for (const std::string& text : texts) {
    auto& tokens = out.judged.emplace_back();
    TokenRow& row = out.rows.emplace_back(TokenRow{.ids = {vocabulary.id("[CLS]")}});
    const std::vector<text::TokenSpan> spans = tokenizer.encode_with_offsets(text);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      tokens.push_back({.span = {spans[i].id, spans[i].begin, text::shown_end(text, spans, i)}});
      row.ids.push_back(spans[i].id);
    }
    row.ids.push_back(vocabulary.id("[SEP]"));
    counted.add(text, row.ids, tokenizer);
    if (tokens.empty())
      throw UsageError(str("detect: no words in '", text, "'"), "give a text with words");
    out.longest = std::max(out.longest, std::ssize(row.ids));
    if (out.longest > max_tokens)
      throw UsageError(str("detect: text ", out.rows.size(), " has ", out.longest,
                           " tokens, the model takes at most ", max_tokens),
                       "split it and pass each part with its own --text");
  }
  counted.warn("detect", vocabulary.origin());
  return out;
}

}  // namespace

Detector::Detector(std::shared_ptr<const pjrt::Client> client, const DetectJob& job,
                   text::BertTokenizer tokenizer, HostWeights weights)
    : max_tokens_(job.max_tokens),
      tokenizer_(std::move(tokenizer)),
      model_(
          std::move(client),
          [replaced = job.replaced](std::int64_t tokens, std::int64_t) { return replaced(tokens); },
          {.command = "detect",
           .most_tokens = job.max_tokens,
           .exact_products = job.exact_products},
          std::move(weights)) {}

std::vector<std::vector<JudgedToken>> Detector::detect(const std::vector<std::string>& given) {
  DetectTexts texts = encode_texts(max_tokens_, tokenizer_, given);
  const auto found = model_.predict(texts.rows);
  const auto probabilities = found.execution.results[0][0].to_host<float>();
  for (std::size_t row = 0; row < texts.judged.size(); ++row)
    for (std::size_t i = 0; i < texts.judged[row].size(); ++i)
      texts.judged[row][i].probability =
          probabilities[row * static_cast<std::size_t>(found.tokens) + i + 1];  // after [CLS]
  return std::move(texts.judged);
}

}  // namespace smelt::execution
