#include "train/detect.h"

#include <algorithm>

#include "base/error.h"
#include "train/ask_model.h"

namespace smelt {

std::vector<std::vector<JudgedToken>> detect_replaced(const DetectJob& job,
                                                      const BertTokenizer& tokenizer,
                                                      const std::vector<std::string>& texts) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<std::vector<JudgedToken>> judged;
  std::vector<TokenRow> rows;
  std::int64_t longest = 0;
  for (const std::string& text : texts) {
    auto& tokens = judged.emplace_back();
    TokenRow& row = rows.emplace_back(TokenRow{.ids = {vocabulary.id("[CLS]")}});
    for (const TokenSpan& span : tokenizer.encode_with_offsets(text)) {
      tokens.push_back({.span = span});
      row.ids.push_back(span.id);
    }
    row.ids.push_back(vocabulary.id("[SEP]"));
    if (tokens.empty())
      throw UsageError(str("detect: no words in '", text, "'"), "give a text with words");
    longest = std::max(longest, std::ssize(row.ids));
    if (longest > job.max_tokens)
      throw UsageError(str("detect: text ", rows.size(), " has ", longest,
                           " tokens, the model takes at most ", job.max_tokens),
                       "cut it, and give the parts with several --text");
  }
  const Execution execution = ask_model("detect",
                                        {.model_dir = job.model_dir,
                                         .model = job.model,
                                         .device = job.device,
                                         .exact_products = job.exact_products,
                                         .averaged = job.averaged,
                                         .vocab = job.vocab},
                                        job.replaced(longest), rows);
  const auto probabilities = execution.results[0][0].to_host<float>();
  for (std::size_t row = 0; row < judged.size(); ++row)
    for (std::size_t i = 0; i < judged[row].size(); ++i)
      judged[row][i].probability =
          probabilities[row * static_cast<std::size_t>(longest) + i + 1];  // after [CLS]
  return judged;
}

}  // namespace smelt
