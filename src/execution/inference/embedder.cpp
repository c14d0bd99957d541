#include "execution/inference/embedder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/stop_signal.h"
#include "base/watchdog.h"
#include "data/input_pipeline/pack.h"
#include "data/input_pipeline/permutation.h"
#include "io/formats/packing_features.h"

namespace smelt::execution {
namespace {

RowModelOptions embed_options(const EmbedJob& job) {
  return {.command = "embed",
          .hint = "lower --batch (batch_size in serve), or give shorter texts",
          .most_tokens = job.most_tokens,
          .exact_products = job.exact_products};
}

// Returns the number of tokens of a packed row.
std::int64_t packed_length(const EmbedJob& job) {
  constexpr std::int64_t kLength = 64;
  return std::min(kLength, job.most_tokens);
}

// Returns the numbers in a pseudorandom order, which depends only on their count.
std::vector<std::size_t> shuffled(const std::vector<std::size_t>& numbers) {
  const data::Permutation place(numbers.size(), 0, 0);
  std::vector<std::size_t> out(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) out[place(i)] = numbers[i];
  return out;
}

// Returns the slots per text of packed batches: the largest power of two that is at most the mean
// number of tokens, so that a batch has room for as many texts as fit into its rows.
std::int64_t slots_for(std::span<const std::vector<std::int32_t>> texts,
                       const std::vector<std::size_t>& numbers, std::int64_t T) {
  std::size_t tokens = 0;
  for (const std::size_t i : numbers) tokens += texts[i].size();
  const std::size_t mean = tokens / numbers.size();
  std::int64_t out = 2;
  while (2 * out <= static_cast<std::int64_t>(mean) && T % (2 * out) == 0) out *= 2;
  return out;
}

// A packed batch. Row i of its arrays holds the text with the number texts[i]; the rows after the
// last text are padding.
struct PackedTexts {
  data::Batch batch;
  std::vector<std::size_t> texts;
};

// Returns the lengths of the first texts whose tokens together are at most those of a batch.
std::vector<std::int64_t> lengths_for_batch(std::span<const std::vector<std::int32_t>> texts,
                                            std::span<const std::size_t> numbers,
                                            const data::PackingPlan& plan) {
  std::vector<std::int64_t> out;
  std::int64_t tokens = 0;
  for (const std::size_t i :
       numbers.first(std::min(numbers.size(), static_cast<std::size_t>(plan.batch_size)))) {
    tokens += std::ssize(texts[i]);
    if (tokens > plan.rows * plan.length) break;
    out.push_back(std::ssize(texts[i]));
  }
  return out;
}

// Packs as many of the first texts as fit into a batch with these features.
PackedTexts packed_batch(std::span<const std::vector<std::int32_t>> texts,
                         std::span<const std::size_t> numbers, const data::PackingPlan& plan,
                         const io::Features& features) {
  auto lengths = lengths_for_batch(texts, numbers, plan);
  data::PackedPlaces places = pack_sequences(lengths, plan);
  while (places.rows > plan.rows) {
    lengths.pop_back();
    places = pack_sequences(lengths, plan);
  }
  PackedTexts out{.batch = data::empty_batch(features, plan.batch_size), .texts = {}};
  const auto array = [&](const char* name) {
    return out.batch.arrays[data::find_feature(features, name)].values<std::int32_t>();
  };
  const auto ids = array("input_ids"), mask = array("input_mask"), slots = array(io::kPackedTokens),
             starts = array(io::kPackedStarts), rows = array(io::kPackedRows);
  std::ranges::fill(slots, -1);
  std::iota(rows.begin(), rows.end(), 0);
  for (std::size_t place = 0; place < lengths.size(); ++place) {
    out.texts.push_back(numbers[static_cast<std::size_t>(places.order[place])]);
    const std::vector<std::int32_t>& text = texts[out.texts.back()];
    const std::size_t begin = place * static_cast<std::size_t>(plan.length);
    std::ranges::copy(text, ids.subspan(begin).begin());
    std::ranges::fill(mask.subspan(begin, text.size()), 1);
    starts[place] = static_cast<std::int32_t>(places.starts[place]);
    const auto own = slots.subspan(static_cast<std::size_t>(places.starts[place]), text.size());
    std::iota(own.begin(), own.end(), static_cast<std::int32_t>(begin));
  }
  return out;
}

void throw_if_stopped() {
  if (StopSignal::raised())
    throw Stopped("embed: stopped by a signal", "run the same command again");
}

}  // namespace

void divide_by_norms(EmbeddingRows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double squares = 0;
    for (const float x : rows.row(i)) squares += static_cast<double>(x) * x;
    const double norm = std::max(std::sqrt(squares), 1e-12);
    for (std::size_t j = i * rows.width; j < (i + 1) * rows.width; ++j)
      rows.values[j] = static_cast<float>(rows.values[j] / norm);
  }
}

Embedder::Embedder(std::shared_ptr<const pjrt::Client> client, EmbedJob job, HostWeights weights)
    : job_(std::move(job)),
      packs_(job_.packed_embeddings && client->platform_name() == "cpu"),
      model_(
          std::move(client),
          [padded = job_.embeddings, packed = job_.packed_embeddings](std::int64_t S,
                                                                      std::int64_t slots) {
            return slots > 1 ? packed(S, slots) : padded(S);
          },
          embed_options(job_), std::move(weights)) {}

void Embedder::finish(const Started& batch, EmbeddingRows& out) const {
  const auto found = model_.values(batch.execution);
  for (std::size_t i = 0; i < batch.texts.size(); ++i)
    std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(i * out.width), out.width,
                out.values.begin() + static_cast<std::ptrdiff_t>(batch.texts[i] * out.width));
}

void Embedder::embed_padded(Texts texts, std::vector<std::size_t> numbers, EmbeddingRows& out,
                            Watchdog* watchdog) {
  std::ranges::stable_sort(numbers, {}, [&](std::size_t i) { return texts[i].size(); });
  const auto size = static_cast<std::size_t>(job_.batch_size);
  for (std::size_t at = 0; at < numbers.size(); at += size) {
    throw_if_stopped();
    std::vector<TokenRow> rows;
    for (std::size_t i = at; i < std::min(at + size, numbers.size()); ++i)
      rows.push_back({.ids = texts[numbers[i]]});
    {
      const Watchdog::Watch watch(watchdog, "compiling embeddings", WorkOf::compiler);
      model_.prepare(rows);
    }
    const Watchdog::Watch watch(watchdog, "embeddings of texts");
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    finish(
        {.execution = model_.predict(rows).execution, .texts = {first, first + std::ssize(rows)}},
        out);
  }
}

bool Embedder::fill_packed_batch(Texts texts, std::span<const std::size_t> numbers) const {
  const std::int64_t half = job_.batch_size * packed_length(job_) / 2;
  std::int64_t tokens = 0;
  return std::ranges::any_of(numbers, [&](std::size_t i) {
    tokens += std::ssize(texts[i]);
    return tokens > half;
  });
}

void Embedder::embed_packed(Texts texts, std::vector<std::size_t> numbers, EmbeddingRows& out,
                            Watchdog* watchdog) {
  numbers = shuffled(numbers);  // so that the mean length of each batch is about that of all texts
  const std::int64_t T = packed_length(job_);
  const std::int64_t most = job_.batch_size * T / slots_for(texts, numbers, T);
  const data::PackingPlan plan{.tokens = "input_mask",
                               .length = T,
                               .batch_size = std::max<std::int64_t>(most, 1),
                               .rows = job_.batch_size};
  const RowModel::Shape shape{plan.batch_size, T, plan.slots()};
  {
    const Watchdog::Watch watch(watchdog, "compiling embeddings", WorkOf::compiler);
    (void)model_.features(shape);
  }
  std::optional<Started> running;
  std::span<const std::size_t> rest(numbers);
  while (fill_packed_batch(texts, rest)) {
    throw_if_stopped();
    const Watchdog::Watch watch(watchdog, "embeddings of texts");
    PackedTexts next = packed_batch(texts, rest, plan, model_.features(shape));
    rest = rest.subspan(next.texts.size());
    // The device computes a batch while the next one is packed.
    Started started{model_.start(next.batch, shape), std::move(next.texts)};
    if (running) finish(*running, out);
    running.emplace(std::move(started));
  }
  if (running) {
    const Watchdog::Watch watch(watchdog, "embeddings of texts");
    finish(*running, out);
  }
  embed_padded(texts, {rest.begin(), rest.end()}, out, watchdog);
}

EmbeddingRows Embedder::embed(Texts texts, Watchdog* watchdog) {
  EmbeddingRows out{.width = static_cast<std::size_t>(job_.width)};
  out.values.resize(out.width * texts.size());
  std::vector<std::size_t> packed, padded;
  const std::int64_t T = packed_length(job_);
  for (std::size_t i = 0; i < texts.size(); ++i)
    (packs_ && std::ssize(texts[i]) <= T ? packed : padded).push_back(i);
  if (!fill_packed_batch(texts, packed))
    padded.insert(padded.end(), packed.begin(), packed.end()), packed.clear();
  if (!packed.empty()) embed_packed(texts, std::move(packed), out, watchdog);
  embed_padded(texts, std::move(padded), out, watchdog);
  return out;
}

}  // namespace smelt::execution
