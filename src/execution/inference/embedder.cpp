#include "execution/inference/embedder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/stop_signal.h"
#include "base/watchdog.h"

namespace smelt::execution {
namespace {

RowModelOptions embed_options(const EmbedJob& job) {
  return {.command = "embed", .most_tokens = job.most_tokens, .exact_products = job.exact_products};
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
      model_(
          std::move(client),
          [predict = job_.embeddings](std::int64_t S, std::int64_t) { return predict(S); },
          embed_options(job_), std::move(weights)) {}

EmbeddingRows Embedder::embed(std::span<const std::vector<std::int32_t>> texts,
                              Watchdog* watchdog) {
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return texts[i].size(); });
  EmbeddingRows out;
  const auto size = static_cast<std::size_t>(job_.batch_size);
  for (std::size_t at = 0; at < order.size(); at += size) {
    const std::size_t count = std::min(size, order.size() - at);
    if (StopSignal::raised())
      throw Stopped(str("embed: stopped by a signal after ", at, " of ", order.size(), " texts"),
                    "run the same command again");
    std::vector<TokenRow> rows;
    for (std::size_t i = at; i < at + count; ++i) rows.push_back({.ids = texts[order[i]]});
    {
      const Watchdog::Watch watch(watchdog, "compiling embeddings", WorkOf::compiler);
      model_.prepare(rows);
    }
    const Watchdog::Watch watch(watchdog, "embeddings of texts");
    const auto found = model_.predict(rows).execution.results[0][0].to_host<float>();
    if (out.width == 0) {
      out.width = found.size() / static_cast<std::size_t>(std::bit_ceil(count));
      out.values.resize(out.width * texts.size());
    }
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(i * out.width), out.width,
                  out.values.begin() + static_cast<std::ptrdiff_t>(order[at + i] * out.width));
  }
  return out;
}

}  // namespace smelt::execution
