#include "train/fill_mask.h"

#include <algorithm>

#include "base/error.h"
#include "train/ask_model.h"

namespace smelt {
namespace {

constexpr std::string_view kMask = "[MASK]";

// The pieces, `framed` by [CLS] and [SEP]; each [MASK] of the text stays one token.
TokenRow encode(const BertTokenizer& tokenizer, std::string_view text, bool framed) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  TokenRow encoded;
  if (framed) encoded.ids.push_back(vocabulary.id("[CLS]"));
  const auto append = [&](std::string_view part) {
    const auto ids = tokenizer.encode(part);
    encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
  };
  std::string_view rest = text;
  for (auto at = rest.find(kMask); at != std::string_view::npos; at = rest.find(kMask)) {
    append(rest.substr(0, at));
    encoded.positions.push_back(static_cast<std::int32_t>(encoded.ids.size()));
    encoded.ids.push_back(vocabulary.id(kMask));
    rest.remove_prefix(at + kMask.size());
  }
  append(rest);
  if (framed) encoded.ids.push_back(vocabulary.id("[SEP]"));
  if (encoded.positions.empty())
    throw UsageError(str("fill: no [MASK] in '", text, "'"), "put [MASK] where a word is missing");
  return encoded;
}

// The texts' longest lengths.
struct Lengths {
  explicit Lengths(const std::vector<TokenRow>& texts) {
    for (const TokenRow& text : texts) {
      tokens = std::max(tokens, std::ssize(text.ids));
      masks = std::max(masks, std::ssize(text.positions));
    }
  }
  std::int64_t tokens = 1, masks = 1;
};

struct TopGuesses {
  std::int64_t count = 0;            // for each mask
  std::vector<float> probabilities;  // [texts * masks, count]
  std::vector<std::int32_t> ids;
};

TopGuesses predict(const FillMaskJob& job, const std::vector<TokenRow>& texts, std::int64_t count) {
  const Lengths lengths(texts);
  const Execution execution = ask_model("fill",
                                        {.model_dir = job.model_dir,
                                         .model = job.model,
                                         .device = job.device,
                                         .exact_products = job.exact_products,
                                         .averaged = job.averaged,
                                         .vocab = job.vocab},
                                        job.guesses(lengths.tokens, lengths.masks, count), texts);
  return {.count = count,
          .probabilities = execution.results[0][0].to_host<float>(),
          .ids = execution.results[0][1].to_host<std::int32_t>()};
}

void check_job(const FillMaskJob& job, const Vocabulary& vocabulary,
               const std::vector<TokenRow>& texts) {
  const std::int64_t words = std::min<std::int64_t>(job.vocab_size, vocabulary.size());
  if (job.top < 1 || job.top > words)
    throw UsageError(str("fill: --top is ", job.top, ", must be from 1 to ", words), "5 is usual");
  const Lengths lengths(texts);
  if (lengths.tokens > job.max_tokens)
    throw UsageError(str("fill: a text has ", lengths.tokens, " tokens, the model takes at most ",
                         job.max_tokens),
                     "cut it, and give the parts with several --text");
}

}  // namespace

std::vector<FilledText> fill_masks(const FillMaskJob& job, const BertTokenizer& tokenizer,
                                   const std::vector<std::string>& texts) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  std::vector<TokenRow> encoded;
  for (const std::string& text : texts) encoded.push_back(encode(tokenizer, text, job.framed));
  check_job(job, vocabulary, encoded);
  // As many more guesses as the model has ids without a word.
  const std::int64_t spare = std::max<std::int64_t>(0, job.vocab_size - vocabulary.size());
  const TopGuesses top = predict(job, encoded, job.top + spare);
  const std::int64_t masks = Lengths(encoded).masks;
  std::vector<FilledText> filled;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FilledText& text = filled.emplace_back(FilledText{.text = texts[i], .masks = {}});
    for (std::int64_t m = 0; m < std::ssize(encoded[i].positions); ++m) {
      auto& guesses = text.masks.emplace_back();
      const auto row = static_cast<std::size_t>((std::ssize(filled) - 1) * masks + m);
      for (std::size_t k = row * top.count; std::ssize(guesses) < job.top; ++k)
        if (top.ids[k] < vocabulary.size())
          guesses.push_back({vocabulary.token(top.ids[k]), top.probabilities[k]});
    }
  }
  return filled;
}

}  // namespace smelt
