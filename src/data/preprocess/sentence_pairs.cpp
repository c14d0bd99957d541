#include "data/preprocess/sentence_pairs.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace smelt::data {

template <class Random>
PairDrawer<Random>::PairDrawer(const TokenCorpus& corpus, const MaskVocabulary& vocabulary,
                               const PairOptions& options)
    : corpus_(corpus), vocabulary_(vocabulary), options_(options) {
  CHECK(options.seq_length >= 5 && options.max_predictions >= 1);
}

// Collects sentences until they reach the target length or the document ends. Each such chunk gives
// one pair; sentences that the pair does not use begin the next chunk.
template <class Random>
void PairDrawer<Random>::draw(std::size_t document, Random& random, PairList& out) {
  random_ = &random;
  out_ = &out;
  if (!options_.next_sentence) return draw_runs(document);
  const auto [first, last] = corpus_.documents()[document];
  const std::uint64_t target_length = draw_length(options_.seq_length - 3);
  std::uint64_t chunk = first;
  for (std::uint64_t next = first + 1; next <= last; ++next) {
    if (next < last && corpus_.tokens(chunk, next).size() < target_length) continue;
    std::uint64_t used = 0;
    finish(draw_pair(document, chunk, next, target_length, used));
    chunk += used;
    next = chunk;
  }
}

// Returns `longest`, or with probability short_seq_prob a length from 2 to `longest`.
template <class Random>
std::uint64_t PairDrawer<Random>::draw_length(std::int64_t longest) {
  const bool is_short = random_->random() < options_.short_seq_prob;
  return static_cast<std::uint64_t>(is_short ? random_->randint(2, longest) : longest);
}

// Draws a length for each run of tokens. If a document had one length for all its runs, documents
// with a short length would have far more examples than others.
template <class Random>
void PairDrawer<Random>::draw_runs(std::size_t document) {
  const auto [first, last] = corpus_.documents()[document];
  const TokenRange all = corpus_.tokens(first, last);
  for (std::uint64_t begin = all.begin; begin < all.end;) {
    SentencePair run;
    run.a = {begin, std::min(all.end, begin + draw_length(options_.seq_length - 2))};
    begin = run.a.end;
    finish(run);
  }
}

// Draws one pair from the chunk [first, last). `used` is set to the number of sentences it uses.
template <class Random>
SentencePair PairDrawer<Random>::draw_pair(std::size_t document, std::uint64_t first,
                                           std::uint64_t last, std::uint64_t target_length,
                                           std::uint64_t& used) {
  const std::uint64_t count = last - first;
  std::uint64_t a_count = 1;
  if (count >= 2)
    a_count = static_cast<std::uint64_t>(random_->randint(1, static_cast<std::int64_t>(count) - 1));
  SentencePair pair;
  pair.a = corpus_.tokens(first, first + a_count);
  pair.random_next = count == 1 || random_->random() < 0.5;
  if (pair.random_next) {
    pair.b = draw_other(document, static_cast<std::int64_t>(target_length) -
                                      static_cast<std::int64_t>(pair.a.size()));
    used = a_count;
  } else {
    pair.b = corpus_.tokens(first + a_count, last);
    used = count;
  }
  truncate(pair.a, pair.b);
  return pair;
}

// Appends at least one sentence of another document, until `wanted` tokens are reached. If ten
// draws give the same document, which may be the only one, that document is used.
template <class Random>
TokenRange PairDrawer<Random>::draw_other(std::size_t document, std::int64_t wanted) {
  const auto& documents = corpus_.documents();
  std::size_t other = document;
  for (int attempt = 0; attempt < 10 && other == document; ++attempt)
    other = static_cast<std::size_t>(
        random_->randint(0, static_cast<std::int64_t>(documents.size()) - 1));
  const auto [first, last] = documents[other];
  const auto start = first + static_cast<std::uint64_t>(
                                 random_->randint(0, static_cast<std::int64_t>(last - first) - 1));
  std::uint64_t end = start + 1;
  while (end < last && static_cast<std::int64_t>(corpus_.tokens(start, end).size()) < wanted) ++end;
  return corpus_.tokens(start, end);
}

// Truncates at a random end: the longer of the two (B if equal) loses its first or last token until
// both fit.
template <class Random>
void PairDrawer<Random>::truncate(TokenRange& a, TokenRange& b) {
  const auto longest = static_cast<std::uint64_t>(options_.seq_length - 3);
  while (a.size() + b.size() > longest) {
    TokenRange& longer = a.size() > b.size() ? a : b;
    if (random_->random() < 0.5)
      ++longer.begin;
    else
      --longer.end;
  }
}

template <class Random>
void PairDrawer<Random>::list_tokens(const SentencePair& pair) {
  const auto a = corpus_.ids(pair.a), b = corpus_.ids(pair.b);
  tokens_.clear();
  tokens_.push_back(vocabulary_.cls);
  tokens_.insert(tokens_.end(), a.begin(), a.end());
  tokens_.push_back(vocabulary_.sep);
  if (b.empty()) return;
  tokens_.insert(tokens_.end(), b.begin(), b.end());
  tokens_.push_back(vocabulary_.sep);
}

// Collects every position except [CLS] and [SEP]. With whole words, a continuing piece joins the
// previous candidate, even across the [SEP] if B begins within a word.
template <class Random>
void PairDrawer<Random>::list_candidates() {
  positions_.clear();
  candidates_.clear();
  for (std::uint32_t position = 0; position < tokens_.size(); ++position) {
    const std::int32_t token = tokens_[position];
    if (token == vocabulary_.cls || token == vocabulary_.sep) continue;
    positions_.push_back(position);
    const auto end = static_cast<std::uint32_t>(positions_.size());
    const bool joins = options_.whole_word_mask && !candidates_.empty() &&
                       vocabulary_.continues[static_cast<std::size_t>(token)];
    if (joins)
      candidates_.back().end = end;
    else
      candidates_.push_back({end - 1, end});
  }
}

template <class Random>
std::int32_t PairDrawer<Random>::draw_replacement(std::int32_t token) {
  if (random_->random() < 0.8) return vocabulary_.mask;
  if (random_->random() < 0.5) return token;
  const auto count = static_cast<std::int64_t>(vocabulary_.words.size());
  return vocabulary_.words[static_cast<std::size_t>(random_->randint(0, count - 1))];
}

// Draws the masks and adds the pair.
template <class Random>
void PairDrawer<Random>::finish(SentencePair pair) {
  list_tokens(pair);
  list_candidates();
  random_->shuffle(std::span(candidates_));
  // Rounds halves to even, like Python's round and nearbyint.
  const double share =
      std::nearbyint(static_cast<double>(tokens_.size()) * options_.masked_lm_prob);
  const auto wanted = static_cast<std::uint32_t>(
      std::clamp(share, 1.0, static_cast<double>(options_.max_predictions)));
  std::vector<Mask>& masks = out_->masks;
  pair.first_mask = masks.size();
  for (const auto [begin, end] : candidates_) {
    if (pair.mask_count >= wanted) break;
    if (pair.mask_count + (end - begin) > wanted) continue;
    for (std::uint32_t i = begin; i < end; ++i)
      masks.push_back({positions_[i], draw_replacement(tokens_[positions_[i]])});
    pair.mask_count += end - begin;
  }
  std::sort(masks.begin() + static_cast<std::ptrdiff_t>(pair.first_mask), masks.end(),
            [](const Mask& x, const Mask& y) { return x.position < y.position; });
  out_->pairs.push_back(pair);
}

template class PairDrawer<PythonRandom>;
template class PairDrawer<StreamRandom>;

PairList draw_original_pairs(TokenCorpus& corpus, const MaskVocabulary& vocabulary,
                             const PairOptions& options, PythonRandom& random) {
  random.shuffle(std::span(corpus.documents()));
  PairDrawer<PythonRandom> drawer(corpus, vocabulary, options);
  PairList out;
  for (std::int64_t pass = 0; pass < options.dupe_factor; ++pass)
    for (std::size_t document = 0; document < corpus.documents().size(); ++document)
      drawer.draw(document, random, out);
  random.shuffle(std::span(out.pairs));
  return out;
}

}  // namespace smelt::data
