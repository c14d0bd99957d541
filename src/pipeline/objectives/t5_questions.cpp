#include "pipeline/objectives/t5_questions.h"

#include <algorithm>
#include <map>

#include "io/formats/config.h"
#include "model/tasks/t5_answers.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::pipeline {
namespace {

constexpr std::string_view kSpaceSign = "\xE2\x96\x81";  // U+2581

std::string sentinel_name(std::int64_t number) { return str("<extra_id_", number, ">"); }

text::TokenizerFlags of_words(text::TokenizerFlags flags) {
  flags.segment_command = std::string(text::kNoSegmentCommand);
  return flags;
}

// Splits text into pieces, sentinels and added tokens like transformers' T5TokenizerFast: first at
// tokens that match the unchanged text, then, in the remaining parts, at tokens that match the
// normalized text.
class T5Text {
 public:
  T5Text(const model::T5Config& model, const std::string& vocab, const text::TokenizerFlags& flags,
         std::optional<std::int64_t> extra_ids)
      : segmenter_(text::Segmenter::of(text::segment_command_of(vocab, flags))),
        tokenizer_(text::load_tokenizer(vocab, of_words(flags))),
        added_(text::added_pieces(vocab)),
        sentinels_(text::sentinels_of(*tokenizer_, vocab,
                                      extra_ids.value_or(text::sentinels_on_top(
                                          tokenizer_->size(), model.vocab_size, added_.tokens)))),
        signs_(text::space_signs(vocab)),
        end_(text::id_of_piece(*tokenizer_, vocab, "</s>")) {
    text::check_added_pieces(added_, model.vocab_size, vocab);
    if (signs_.of_spaces || signs_.behind_sentinels != signs_.at_begin || !added_.tokens.empty())
      other_ =
          std::make_unique<text::SentencePieceTokenizer>(vocab, !signs_.at_begin, of_words(flags));
    add_sentinels();
    add_tokens(vocab);
  }

  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> out;
    Before before = Before::nothing;
    as_written_.for_each(text, nullptr,
                         [&](const text::AddedToken* token, std::size_t begin, std::size_t end) {
                           if (token == nullptr)
                             return encode_part(text.substr(begin, end - begin), before, out);
                           out.push_back(token->id);
                           before = is_sentinel(token->id) ? Before::sentinel : Before::token;
                         });
    out.push_back(end_);
    return out;
  }

  std::string decode(std::span<const std::int32_t> ids) const {
    std::string out;
    std::vector<std::int32_t> pieces;
    // Whether the space before the following text is part of its first piece.
    bool joins = false;
    const auto add = [&](const std::string& text, bool spaced) {
      if (!out.empty() && !text.empty() && spaced) out += ' ';
      out += text;
    };
    const auto flush = [&] {
      if (pieces.empty()) return;
      add(tokenizer_->decode(pieces),
          !joins || tokenizer_->token(pieces.front()).starts_with(kSpaceSign));
      joins = false;
      pieces.clear();
    };
    for (const std::int32_t id : ids) {
      const auto found = names_.find(id);
      if (found == names_.end()) {
        if (id < tokenizer_->size()) pieces.push_back(id);
        continue;
      }
      flush();
      add(found->second, is_sentinel(id));
      joins = !is_sentinel(id);
    }
    flush();
    return out;
  }

  std::int32_t end() const { return end_; }
  std::int32_t unknown() const { return tokenizer_->unknown(); }
  // Returns the highest id plus 1.
  std::int64_t ids() const { return ids_; }

 private:
  // The kind of token before a part of a text.
  enum class Before { nothing, sentinel, token };

  void add_sentinels() {
    const bool strip = added_.sentinels_strip && !added_.tokens.empty();
    for (std::int64_t i = 0; i < sentinels_.count; ++i) {
      const auto id = static_cast<std::int32_t>(sentinels_.first - i);
      const std::string name = sentinel_name(i);
      const auto found = std::ranges::find(added_.tokens, name, &text::AddedToken::content);
      // If an added token has this name, its id replaces that of the sentinel.
      if (found != added_.tokens.end()) continue;
      as_written_.add(name, {.id = id, .content = name, .lstrip = strip, .rstrip = strip});
      names_[id] = name;
    }
  }

  void add_tokens(const std::string& vocab) {
    ids_ = sentinels_.ids;
    for (const text::AddedToken& token : added_.tokens) {
      // An added token that is also a piece of the vocabulary is matched as a piece.
      if (token.id < tokenizer_->size() && tokenizer_->token(token.id) == token.content) continue;
      if (token.normalized && raw_ == nullptr) {
        raw_ = std::make_unique<text::SentencePieceTokenizer>(vocab, false, of_words({}), true);
      }
      (token.normalized ? normalized_ : as_written_)
          .add(token.normalized ? normalize(token.content) : token.content, token);
      if (token.normalized) kept_whole_.add(token.content, token);
      names_[token.id] = token.content;
      ids_ = std::max<std::int64_t>(ids_, token.id + 1);
    }
  }

  bool is_sentinel(std::int32_t id) const {
    const std::int64_t number = sentinels_.first - id;
    return number >= 0 && number < sentinels_.count && names_.at(id) == sentinel_name(number);
  }

  // Normalizes text and removes trailing white space. Replaces each run of several spaces by one
  // U+2581, except if added_.by_words is set; single spaces are unchanged.
  std::string normalize(std::string_view text) const {
    const std::string marked = raw_->normalized(text);
    std::string spaced, out;
    for (std::size_t at = 0; at < marked.size();) {
      const bool is_sign = std::string_view(marked).substr(at).starts_with(kSpaceSign);
      spaced += is_sign ? ' ' : marked[at];
      at += is_sign ? kSpaceSign.size() : 1;
    }
    spaced.resize(text::white_space_begin(spaced));
    for (std::size_t at = 0; at < spaced.size();) {
      const std::size_t stop = std::min(spaced.find_first_not_of(' ', at), spaced.size());
      if (stop > at + 1 && !added_.by_words)
        out += kSpaceSign;
      else
        out += spaced[at];
      at = added_.by_words ? at + 1 : std::max(stop, at + 1);
    }
    return out;
  }

  // Encodes the text between two added tokens that were found before normalization.
  void encode_part(std::string_view text, Before before, std::vector<std::int32_t>& out) const {
    if (!segmenter_) return encode_words(text, before, out);
    // Applies word segmentation only between added tokens, so that it does not split them.
    std::string words;
    kept_whole_.for_each(
        text, nullptr, [&](const text::AddedToken* token, std::size_t begin, std::size_t end) {
          const std::string_view part = text.substr(begin, end - begin);
          const std::string more = token != nullptr ? std::string(part) : segmenter_->split(part);
          if (!words.empty() && !words.ends_with(' ') && !more.starts_with(' ')) words += ' ';
          words += more;
        });
    encode_words(words, before, out);
  }

  // Encodes text after word segmentation.
  void encode_words(std::string_view part, Before before, std::vector<std::int32_t>& out) const {
    const bool at_begin = before == Before::nothing;
    const bool sign =
        at_begin ? signs_.at_begin
                 : signs_.behind_sentinels ||
                       ((signs_.of_spaces || before == Before::token) && part.front() == ' ');
    if (normalized_.empty()) return encode_pieces(part, sign, out);
    const std::string text = normalize(part);
    normalized_.for_each(
        text, nullptr, [&](const text::AddedToken* token, std::size_t begin, std::size_t end) {
          if (token != nullptr) return out.push_back(token->id);
          const std::string_view rest = std::string_view(text).substr(begin, end - begin);
          if (rest.size() == text.size()) return encode_pieces(part, sign, out);
          const bool first = at_begin && begin == 0;
          encode_rest(rest, first ? signs_.at_begin : signs_.behind_sentinels, out);
        });
  }

  // Encodes normalized text next to an added token. A leading space is significant there; `sign`:
  // whether to add one if it is missing.
  void encode_rest(std::string_view text, bool sign, std::vector<std::int32_t>& out) const {
    if (added_.by_words) return encode_pieces(text, true, out);
    const bool spaced = text.starts_with(' ') || text.starts_with(kSpaceSign);
    raw_->encode(sign && !spaced ? str(" ", text) : std::string(text), out);
  }

  void encode_pieces(std::string_view text, bool sign, std::vector<std::int32_t>& out) const {
    (sign == signs_.at_begin ? *tokenizer_ : *other_).encode(text, out);
  }

  std::shared_ptr<const text::Segmenter> segmenter_;  // null: no word segmentation
  // Tokenizers for text after word segmentation.
  std::unique_ptr<const text::Tokenizer> tokenizer_;
  // Like tokenizer_, but with the opposite setting for a leading space; null if not needed.
  std::unique_ptr<const text::Tokenizer> other_;
  std::unique_ptr<const text::SentencePieceTokenizer> raw_;  // keeps all spaces and adds none
  text::AddedPieces added_;
  text::Sentinels sentinels_;
  text::SpaceSigns signs_;
  std::int32_t end_;
  std::int64_t ids_ = 0;
  text::TokenFinder as_written_, normalized_;
  // The same tokens as in `normalized_`, but matched in text that is not normalized.
  text::TokenFinder kept_whole_;
  std::map<std::int32_t, std::string> names_;  // of sentinels and added tokens
};

// Estimates the bytes of intermediate values in f32. Per row: the decoder's keys and values for its
// self-attention and cross-attention, the encoder's activations and attention scores, and three
// copies of the output scores. Shared by all rows: the position biases.
double bytes_kept(const model::T5Config& c, double rows, double S, double T) {
  const auto layers = static_cast<double>(c.decoder_layers()),
             heads = static_cast<double>(c.num_heads), width = heads * static_cast<double>(c.d_kv);
  const double keys = 2 * layers * width * (S + 2 * T);
  const double inner = 4 * S * static_cast<double>(std::max(c.d_ff, c.d_model));
  const double scores = 3 * heads * S * S, words = 3 * static_cast<double>(c.vocab_size);
  return 4 * (rows * (keys + inner + scores + words) + 2 * heads * (S * S + T * T));
}

}  // namespace

execution::GenerateJob t5_generate_job(const model::T5Config& model, const std::string& vocab,
                                       const text::TokenizerFlags& flags,
                                       std::optional<std::int64_t> extra_ids) {
  const auto text = std::make_shared<const T5Text>(model, vocab, flags, extra_ids);
  execution::GenerateJob job;
  job.answers = [model, words = text->ids()](std::int64_t S, const model::Search& search) {
    return model::t5_answers(model, S, search, words);
  };
  job.encode = [text](std::string_view of) { return text->encode(of); };
  job.decode = [text](std::span<const std::int32_t> ids) { return text->decode(ids); };
  job.bytes = [model](std::int64_t rows, std::int64_t S, std::int64_t T) {
    return bytes_kept(model, static_cast<double>(rows), static_cast<double>(S),
                      static_cast<double>(T));
  };
  job.dim_names = [model](std::string_view parameter) {
    return model::t5_dim_names(model, parameter);
  };
  job.end = text->end();
  job.unknown = text->unknown();
  return job;
}

execution::GenerateJob stored_t5_job(const checkpoint::StoredModel& m) {
  execution::GenerateJob job =
      t5_generate_job(io::parse_config<model::T5Config>(m.config, m.where), m.vocab,
                      {.segment_command = m.segment_command}, m.t5.extra_ids);
  job.prefix = m.t5.prefix;
  return job;
}

}  // namespace smelt::pipeline
