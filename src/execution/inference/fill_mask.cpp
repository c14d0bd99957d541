#include "execution/inference/fill_mask.h"

#include <algorithm>

#include "base/error.h"
#include "execution/inference/lazy_model.h"
#include "execution/inference/row_predictor.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt {
namespace {

constexpr std::string_view kMask = "[MASK]";

// Returns the next [MASK] or [mask] of the text, or the vocabulary's own mask token, such as
// RoBERTa's <mask>; empty if there is none.
std::string_view find_mask(std::string_view text, const Vocabulary& vocabulary) {
  const auto same = [](char a, char b) { return a == b || (a >= 'a' && a <= 'z' && a - 32 == b); };
  const auto found = std::ranges::search(text, kMask, same);
  const std::string_view own = vocabulary.special_name(kMask);
  const std::size_t at = text.find(own);
  if (at == text.npos ||
      (!found.empty() && found.begin() - text.begin() < std::ssize(text.substr(0, at))))
    return {found.begin(), found.end()};
  return text.substr(at, own.size());
}

// The pieces, `framed` by [CLS] and [SEP]; each [MASK] of the text stays one token.
TokenRow encode(const BertTokenizer& tokenizer, std::string_view text, bool framed) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
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

// As many more guesses as the model has ids without a word.
std::int64_t spare_guesses(const FillMaskJob& job, const Vocabulary& vocabulary) {
  return std::max<std::int64_t>(0, job.vocab_size - vocabulary.size());
}

std::vector<TokenRow> encode_all(const FillMaskJob& job, const BertTokenizer& tokenizer,
                                 const std::vector<std::string>& texts) {
  std::vector<TokenRow> out;
  for (const std::string& text : texts) out.push_back(encode(tokenizer, text, job.framed));
  check_job(job, tokenizer.vocabulary(), out);
  return out;
}

Prediction guesses_for(const FillMaskJob& job, const Vocabulary& vocabulary,
                       const std::vector<TokenRow>& rows) {
  const Lengths lengths(rows);
  return job.guesses(lengths.tokens, lengths.masks, job.top + spare_guesses(job, vocabulary));
}

void warn_of_unknown(const std::vector<std::string>& texts, const std::vector<TokenRow>& rows,
                     const BertTokenizer& tokenizer) {
  UnknownCount counted;
  for (std::size_t i = 0; i < rows.size(); ++i) counted.add(texts[i], rows[i].ids, tokenizer);
  counted.warn("fill", tokenizer.vocabulary().origin());
}

// The guesses of a program: `asked` for each of `masks` positions of each row.
struct Guesses {
  Guesses(const Execution& execution, std::int64_t masks, std::int64_t asked)
      : masks(masks),
        asked(asked),
        probabilities(execution.results[0][0].to_host<float>()),
        ids(execution.results[0][1].to_host<std::int32_t>()) {}

  // Returns the first `top` guesses that the vocabulary has.
  std::vector<MaskGuess> best(std::size_t row, std::int64_t mask, const BertTokenizer& tokenizer,
                              std::int64_t top) const {
    std::vector<MaskGuess> out;
    const auto first = (static_cast<std::int64_t>(row) * masks + mask) * asked;
    for (auto k = static_cast<std::size_t>(first); std::ssize(out) < top; ++k)
      if (ids[k] < tokenizer.size())
        out.push_back({nfc(tokenizer.readable_token(ids[k])), probabilities[k]});
    return out;
  }

  std::int64_t masks, asked;
  std::vector<float> probabilities;
  std::vector<std::int32_t> ids;
};

std::vector<FilledText> filled_texts(const std::vector<std::string>& texts,
                                     const std::vector<TokenRow>& rows, const Guesses& guesses,
                                     const BertTokenizer& tokenizer, std::int64_t top) {
  std::vector<FilledText> filled;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FilledText& text = filled.emplace_back(FilledText{.text = texts[i], .masks = {}});
    for (std::int64_t m = 0; m < std::ssize(rows[i].positions); ++m)
      text.masks.push_back(guesses.best(i, m, tokenizer, top));
  }
  return filled;
}

}  // namespace

struct MaskFiller::Asked {
  Asked(std::shared_ptr<const Client> client, const FillMaskJob& job, const BertTokenizer& by,
        std::vector<std::string> of, const ShardingPlan& placement)
      : tokenizer(by),
        top(job.top),
        asked(job.top + spare_guesses(job, by.vocabulary())),
        texts(std::move(of)),
        rows(encode_all(job, by, texts)),
        question("fill", std::move(client), guesses_for(job, by.vocabulary(), rows), rows,
                 job.exact_products, placement) {
    warn_of_unknown(texts, rows, by);
  }

  const BertTokenizer& tokenizer;
  std::int64_t top, asked;  // guesses: to be told, to be asked for
  std::vector<std::string> texts;
  std::vector<TokenRow> rows;
  RowPredictor question;
};

MaskFiller::MaskFiller(std::shared_ptr<const Client> client, const FillMaskJob& job,
                       const BertTokenizer& tokenizer, std::vector<std::string> texts,
                       const ShardingPlan& placement)
    : asked_(std::make_unique<Asked>(std::move(client), job, tokenizer, std::move(texts),
                                     placement)) {}

MaskFiller::~MaskFiller() = default;

std::vector<FilledText> MaskFiller::fill(const SlicedTensors& tensors,
                                         const std::string& where) const {
  const Asked& a = *asked_;
  const Guesses guesses(a.question.ask(tensors, where), Lengths(a.rows).masks, a.asked);
  return filled_texts(a.texts, a.rows, guesses, a.tokenizer, a.top);
}

Filler open_filler(const FillMaskJob& job, const BertTokenizer& tokenizer) {
  return opened_with_first_texts<Filler>(
      "fill", job, [job, tokenizer](const auto& texts) { encode_all(job, tokenizer, texts); },
      [job, tokenizer](auto tensors, const std::string& where) {
        return open_filler(job, tokenizer, std::move(tensors), where);
      });
}

Filler open_filler(const FillMaskJob& job, const BertTokenizer& tokenizer,
                   std::shared_ptr<const SlicedTensors> tensors, std::string where) {
  const std::int64_t asked = job.top + spare_guesses(job, tokenizer.vocabulary());
  const auto guesses = [of = job.guesses, asked](std::int64_t tokens, std::int64_t masks) {
    return of(tokens, masks, asked);
  };
  const auto model = std::make_shared<RowModel>(
      open_device(job.device, 1), guesses,
      RowModelOptions{
          .command = "fill", .most_tokens = job.max_tokens, .exact_products = job.exact_products},
      std::move(tensors), std::move(where));
  return [job, tokenizer, asked, model](const std::vector<std::string>& texts) {
    const std::vector<TokenRow> rows = encode_all(job, tokenizer, texts);
    warn_of_unknown(texts, rows, tokenizer);
    const auto found = model->predict(rows);
    return filled_texts(texts, rows, Guesses(found.execution, found.positions, asked), tokenizer,
                        job.top);
  };
}

}  // namespace smelt
