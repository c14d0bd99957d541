#include "execution/inference/fill_mask.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_format.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::execution {
namespace {

constexpr std::string_view kMask = "[MASK]";

// Returns the next [MASK] or [mask] of the text, or the vocabulary's own mask token, such as
// RoBERTa's <mask>; empty if there is none.
std::string_view find_mask(std::string_view text, const text::Vocabulary& vocabulary) {
  const auto same = [](char a, char b) { return a == b || (a >= 'a' && a <= 'z' && a - 32 == b); };
  const auto found = std::ranges::search(text, kMask, same);
  const std::string_view own = vocabulary.special_name(kMask);
  const std::size_t at = text.find(own);
  if (at == text.npos ||
      (!found.empty() && found.begin() - text.begin() < std::ssize(text.substr(0, at))))
    return {found.begin(), found.end()};
  return text.substr(at, own.size());
}

// Tokenizes a text, with [CLS] and [SEP] if `framed`. Each [MASK] becomes one token.
TokenRow encode(const text::BertTokenizer& tokenizer, std::string_view text, bool framed) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  TokenRow encoded;
  if (framed) encoded.ids.push_back(vocabulary.id("[CLS]"));
  std::string_view rest = text;
  const auto append = [&](std::string_view part, bool before_mask) {
    tokenizer.encode_part(part, rest.data() == text.data(), before_mask, encoded.ids);
  };
  for (auto mask = find_mask(rest, vocabulary); !mask.empty(); mask = find_mask(rest, vocabulary)) {
    const auto at = static_cast<std::size_t>(mask.data() - rest.data());
    append(rest.substr(0, at), true);
    encoded.positions.push_back(static_cast<std::int32_t>(encoded.ids.size()));
    encoded.ids.push_back(vocabulary.id(kMask));
    rest.remove_prefix(at + mask.size());
  }
  append(rest, false);
  if (framed) encoded.ids.push_back(vocabulary.id("[SEP]"));
  if (encoded.positions.empty())
    throw UsageError(str("fill: no [MASK] in '", text, "'"), "put [MASK] where a word is missing");
  return encoded;
}

std::int64_t check_top(const FillMaskJob& job, const text::Vocabulary& vocabulary) {
  const std::int64_t words = std::min<std::int64_t>(job.vocab_size, vocabulary.size());
  if (job.top < 1 || job.top > words)
    throw UsageError(str("fill: --top is ", job.top, ", must be from 1 to ", words), "use --top 5");
  // The best guesses may be ids that have no token in the vocabulary. The program therefore returns
  // one more guess for each such id.
  return job.top + std::max<std::int64_t>(0, job.vocab_size - vocabulary.size());
}

// The results of the program: `per_mask` guesses for each of `masks` positions of each row.
struct Guesses {
  Guesses(const pjrt::Execution& execution, std::int64_t masks, std::int64_t per_mask)
      : masks(masks),
        per_mask(per_mask),
        probabilities(execution.results[0][0].to_host<float>()),
        ids(execution.results[0][1].to_host<std::int32_t>()) {}

  // Returns the first `top` guesses whose ids are in the vocabulary.
  std::vector<MaskGuess> best(std::size_t row, std::int64_t mask,
                              const text::BertTokenizer& tokenizer, std::int64_t top) const {
    std::vector<MaskGuess> out;
    const auto first = (static_cast<std::int64_t>(row) * masks + mask) * per_mask;
    for (auto k = static_cast<std::size_t>(first); std::ssize(out) < top; ++k)
      if (ids[k] < tokenizer.size())
        out.push_back({text::nfc(tokenizer.readable_token(ids[k])), probabilities[k]});
    return out;
  }

  std::int64_t masks, per_mask;
  std::vector<float> probabilities;
  std::vector<std::int32_t> ids;
};

TextSample sample_of(const FilledText& text) {
  evaluation::Record masks = evaluation::Record::array();
  std::string line = text.text + " :";
  for (const auto& guesses : text.masks) {
    evaluation::Record& mask = masks.emplace_back(evaluation::Record::array());
    for (const MaskGuess& guess : guesses) {
      mask.push_back({guess.token, to_f32_digits(guess.probability)});
      line += str(" ", guess.token, " ", percent(guess.probability));
    }
  }
  return {.line = std::move(line), .fields = {{"text", text.text}, {"masks", std::move(masks)}}};
}

}  // namespace

MaskFiller::MaskFiller(std::shared_ptr<const pjrt::Client> client, FillMaskJob job,
                       text::BertTokenizer tokenizer, HostWeights weights,
                       const model::ShardingPlan& placement)
    : job_(std::move(job)),
      tokenizer_(std::move(tokenizer)),
      guesses_per_mask_(check_top(job_, tokenizer_.vocabulary())),
      model_(
          std::move(client),
          [of = job_.guesses, per_mask = guesses_per_mask_](
              std::int64_t tokens, std::int64_t masks) { return of(tokens, masks, per_mask); },
          {.command = "fill",
           .most_tokens = job_.max_tokens,
           .exact_products = job_.exact_products,
           .placement = placement},
          std::move(weights)) {}

std::vector<TokenRow> MaskFiller::encode(const std::vector<std::string>& texts) const {
  std::vector<TokenRow> out;
  text::UnknownCount counted;
  for (const std::string& text : texts) {
    const TokenRow& row = out.emplace_back(smelt::execution::encode(tokenizer_, text, job_.framed));
    if (std::ssize(row.ids) > job_.max_tokens)
      throw UsageError(str("fill: a text has ", row.ids.size(), " tokens, the model takes at most ",
                           job_.max_tokens),
                       "split it and pass each part with its own --text");
    counted.add(text, row.ids, tokenizer_);
  }
  counted.warn("fill", tokenizer_.vocabulary().origin());
  return out;
}

std::vector<FilledText> MaskFiller::fill(const std::vector<std::string>& texts,
                                         const std::vector<TokenRow>& rows) {
  const auto found = model_.predict(rows);
  const Guesses guesses(found.execution, found.positions, guesses_per_mask_);
  std::vector<FilledText> filled;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FilledText& text = filled.emplace_back(FilledText{.text = texts[i], .masks = {}});
    for (std::int64_t m = 0; m < std::ssize(rows[i].positions); ++m)
      text.masks.push_back(guesses.best(i, m, tokenizer_, job_.top));
  }
  return filled;
}

MaskSampler::MaskSampler(std::shared_ptr<const pjrt::Client> client, const FillMaskJob& job,
                         const text::BertTokenizer& tokenizer, std::vector<std::string> texts,
                         const model::ShardingPlan& placement)
    : filler_(std::make_unique<MaskFiller>(std::move(client), job, tokenizer, HostWeights(),
                                           placement)),
      texts_(std::move(texts)),
      rows_(filler_->encode(texts_)) {
  filler_->model().prepare(rows_);
}

std::vector<TextSample> MaskSampler::sample(const checkpoint::SlicedTensors& tensors,
                                            const std::string& where) const {
  filler_->model().take({std::make_shared<const checkpoint::SlicedTensors>(tensors), where});
  std::vector<TextSample> out;
  for (const FilledText& text : filler_->fill(texts_, rows_)) out.push_back(sample_of(text));
  filler_->model().take({});  // frees device memory for training
  return out;
}

}  // namespace smelt::execution
