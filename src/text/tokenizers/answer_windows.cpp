#include "text/tokenizers/answer_windows.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::text {
namespace {

// Returns run_squad.py's score, times 100, of the context of piece `at` in a window of pieces
// [begin, end).
std::size_t context_around(std::size_t at, std::size_t begin, std::size_t end) {
  return 100 * std::min(at - begin, end - 1 - at) + (end - begin);
}

void find_best(AnswerWindows& all) {
  struct Best {
    std::size_t window = 0, context = 0;
  };
  std::vector<Best> best(all.pieces.size());
  const auto each = [&](const auto& visit) {
    for (std::size_t w = 0; w < all.windows.size(); ++w) {
      AnswerWindow& window = all.windows[w];
      const std::size_t end = window.first + window.ids.words.size() - 1;
      for (std::size_t at = window.first; at < end; ++at) visit(w, window, at, end);
    }
  };
  each([&](std::size_t w, const AnswerWindow& window, std::size_t at, std::size_t end) {
    const std::size_t context = context_around(at, window.first, end);
    if (context > best[at].context) best[at] = {w, context};
  });
  each([&](std::size_t w, AnswerWindow& window, std::size_t at, std::size_t) {
    window.is_best.push_back(best[at].window == w);
  });
}

}  // namespace

AnswerWindowEncoder::AnswerWindowEncoder(const BertTokenizer& tokenizer, std::int64_t most_tokens,
                                         const WindowRules& rules)
    : tokenizer_(tokenizer),
      most_tokens_(static_cast<std::size_t>(most_tokens)),
      question_tokens_(static_cast<std::size_t>(rules.question_tokens)),
      stride_(static_cast<std::size_t>(rules.stride)),
      cls_(tokenizer.vocabulary().id("[CLS]")),
      sep_(tokenizer.vocabulary().id("[SEP]")) {
  CHECK(rules.stride >= 1 && rules.question_tokens >= 1, rules.stride, rules.question_tokens);
  const auto separators = static_cast<std::int64_t>(tokenizer.vocabulary().separators());
  if (most_tokens < rules.question_tokens + 3 + separators)
    throw UsageError(
        str("windows of ", most_tokens, " tokens with a question of up to ", rules.question_tokens,
            " have no room for a text"),
        "use longer windows (data.seq_length) or shorter questions (data.question_tokens)");
}

AnswerWindows AnswerWindowEncoder::encode(std::string_view question, std::string_view text) const {
  AnswerWindows out{.pieces = tokenizer_.encode_with_offsets(text), .windows = {}, .cut = 0};
  std::vector<std::int32_t> head = tokenizer_.encode(question);
  const std::size_t kept = std::min(head.size(), question_tokens_);
  out.cut = head.size() - kept;
  head.resize(kept);
  head.insert(head.begin(), cls_);
  head.insert(head.end(), tokenizer_.vocabulary().separators(), sep_);
  const std::size_t room = most_tokens_ - head.size() - 1;
  for (std::size_t begin = 0; begin < out.pieces.size();) {
    const std::size_t end = std::min(begin + room, out.pieces.size());
    AnswerWindow window{
        .ids = {.ids = head, .first = head.size(), .words = {0}}, .first = begin, .is_best = {}};
    for (std::size_t i = begin; i < end; ++i) {
      window.ids.words.push_back(window.ids.ids.size());
      window.ids.ids.push_back(out.pieces[i].id);
    }
    window.ids.ids.push_back(sep_);
    out.windows.push_back(std::move(window));
    if (end == out.pieces.size()) break;
    begin += std::min(room, stride_);
  }
  find_best(out);
  return out;
}

}  // namespace smelt::text
