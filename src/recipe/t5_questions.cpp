#include "recipe/t5_questions.h"

#include <algorithm>
#include <charconv>

#include "format/config.h"
#include "tasks/t5_answers.h"
#include "tokenize/sentencepiece.h"
#include "tokenize/sentinels.h"
#include "tokenize/tokenizer.h"
#include "tokenize/unigram_json.h"

namespace smelt {
namespace {

constexpr std::string_view kSentinel = "<extra_id_";
constexpr std::int64_t kSentinelsOfT5 = 100;  // that the original puts on top of its vocabulary

// Text in pieces and sentinels.
class T5Text {
 public:
  T5Text(const T5Config& model, const std::string& vocab, const TokenizerFlags& flags,
         std::optional<std::int64_t> extra_ids)
      : tokenizer_(load_tokenizer(vocab, flags)),
        sentinels_(sentinels_of(*tokenizer_, vocab,
                                extra_ids.value_or(std::clamp<std::int64_t>(
                                    model.vocab_size - tokenizer_->size(), 0, kSentinelsOfT5)))),
        signs_(space_signs(vocab)),
        end_(id_of_piece(*tokenizer_, vocab, "</s>")) {
    if (signs_.of_spaces || signs_.behind_sentinels != signs_.at_begin)
      other_ = std::make_unique<SentencePieceTokenizer>(vocab, !signs_.at_begin);
  }

  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> out;
    bool first = true;
    const auto put = [&](std::string_view part) {
      if (part.empty()) return;
      const bool sign = (first ? signs_.at_begin : signs_.behind_sentinels) ||
                        (signs_.of_spaces && part.front() == ' ');
      (sign == signs_.at_begin ? *tokenizer_ : *other_).encode(part, out);
    };
    for (std::size_t at = text.find(kSentinel); at != text.npos;) {
      const auto sentinel = sentinel_at(text.substr(at));
      if (!sentinel) {  // text
        at = text.find(kSentinel, at + 1);
        continue;
      }
      put(text.substr(0, at));
      first = false;
      out.push_back(sentinel->id);
      text.remove_prefix(at + sentinel->size);
      at = text.find(kSentinel);
    }
    put(text);
    out.push_back(end_);
    return out;
  }

  std::string decode(std::span<const std::int32_t> ids) const {
    std::string out;
    const auto add = [&](const std::string& text) {
      if (!out.empty() && !text.empty()) out += ' ';
      out += text;
    };
    std::vector<std::int32_t> pieces;
    const auto flush = [&] {
      if (!pieces.empty()) add(tokenizer_->decode(pieces));
      pieces.clear();
    };
    for (const std::int32_t id : ids) {
      const std::int64_t number = sentinels_.first - id;
      const bool is_sentinel = number >= 0 && number < sentinels_.count;
      if (!is_sentinel && id < tokenizer_->size()) pieces.push_back(id);
      if (!is_sentinel) continue;
      flush();
      add(str(kSentinel, number, ">"));
    }
    flush();
    return out;
  }

  std::int32_t end() const { return end_; }
  std::int32_t unknown() const { return tokenizer_->unknown(); }
  std::int64_t ids() const { return sentinels_.ids; }

 private:
  struct Sentinel {
    std::int32_t id;
    std::size_t size;
  };
  // "<extra_id_7>…"
  std::optional<Sentinel> sentinel_at(std::string_view text) const {
    std::int64_t number = -1;
    const char* const begin = text.data() + kSentinel.size();
    const auto [stop, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error != std::errc() || stop == text.data() + text.size() || *stop != '>' || number < 0 ||
        number >= sentinels_.count)
      return std::nullopt;
    return Sentinel{static_cast<std::int32_t>(sentinels_.first - number),
                    static_cast<std::size_t>(stop + 1 - text.data())};
  }

  std::unique_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<const Tokenizer> other_;  // with the other choice of a sign, where it is wanted
  Sentinels sentinels_;
  SpaceSigns signs_;
  std::int32_t end_;
};

// In f32: of each row keys and values of both stacks' tokens, the encoder's scores before and after
// their softmax and what lies beside them, and the scores of all words three times over; of all
// rows together the biases of distances.
double bytes_kept(const T5Config& c, double rows, double S, double T) {
  const auto layers = static_cast<double>(c.decoder_layers()),
             heads = static_cast<double>(c.num_heads), width = heads * static_cast<double>(c.d_kv);
  const double keys = 2 * layers * width * (S + 2 * T);
  const double inner = 4 * S * static_cast<double>(std::max(c.d_ff, c.d_model));
  const double scores = 3 * heads * S * S, words = 3 * static_cast<double>(c.vocab_size);
  return 4 * (rows * (keys + inner + scores + words) + 2 * heads * (S * S + T * T));
}

}  // namespace

GenerateJob t5_generate_job(const T5Config& model, const std::string& vocab,
                            const TokenizerFlags& flags, std::optional<std::int64_t> extra_ids) {
  const auto text = std::make_shared<const T5Text>(model, vocab, flags, extra_ids);
  GenerateJob job;
  job.answers = [model, words = text->ids()](std::int64_t S, const Search& search) {
    return t5_answers(model, S, search, words);
  };
  job.encode = [text](std::string_view of) { return text->encode(of); };
  job.decode = [text](std::span<const std::int32_t> ids) { return text->decode(ids); };
  job.bytes = [model](std::int64_t rows, std::int64_t S, std::int64_t T) {
    return bytes_kept(model, static_cast<double>(rows), static_cast<double>(S),
                      static_cast<double>(T));
  };
  job.dim_names = [model](std::string_view parameter) { return t5_dim_names(model, parameter); };
  job.end = text->end();
  job.unknown = text->unknown();
  job.model = config_json(model);
  return job;
}

GenerateJob stored_t5_job(const StoredModel& m) {
  GenerateJob job =
      t5_generate_job(parse_config<T5Config>(m.config, m.where), m.vocab, {}, m.t5.extra_ids);
  job.prefix = m.t5.prefix;
  return job;
}

}  // namespace smelt
