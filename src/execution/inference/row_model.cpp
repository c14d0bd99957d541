#include "execution/inference/row_model.h"

#include <algorithm>
#include <bit>

namespace smelt::execution {
namespace {

constexpr std::array<std::int64_t, 10> kLengths{16, 32, 64, 96, 128, 192, 256, 320, 384, 448};

// Returns a batch of `count` rows: the given rows, then empty ones.
data::Batch padded_batch(const io::Features& features, const std::vector<TokenRow>& rows,
                         std::int64_t count) {
  data::Batch batch = data::empty_batch(features, count);
  const auto put = [&](std::string_view name, std::size_t row, const auto& values) {
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i].name == name)
        std::ranges::copy(values, batch.arrays[i].values<std::int32_t>().begin() +
                                      static_cast<std::ptrdiff_t>(row) * features[i].count());
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    put("input_ids", row, rows[row].ids);
    put("inputs", row, rows[row].ids);
    put("input_mask", row, std::vector<std::int32_t>(rows[row].ids.size(), 1));
    put("masked_lm_positions", row, rows[row].positions);
    put("masked_lm_ids", row, rows[row].labels);
  }
  return batch;
}

std::int64_t power_of_two(std::size_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(std::max<std::size_t>(count, 1)));
}

}  // namespace

std::int64_t padded_length(std::int64_t tokens, std::int64_t most) {
  const auto found = std::ranges::lower_bound(kLengths, tokens);
  if (found != kLengths.end()) return std::min(*found, most);
  // 512, 640, 768, 896, 1024, 1280, ...: a quarter of a power of two apart.
  const auto below = std::bit_floor(static_cast<std::uint64_t>(tokens - 1));
  const auto unit = static_cast<std::int64_t>(below / 4);
  return std::min((tokens + unit - 1) / unit * unit, most);
}

RowModel::RowModel(std::shared_ptr<const pjrt::Client> client, Predictions predictions,
                   RowModelOptions options, HostWeights weights)
    : client_(std::move(client)),
      predictions_(std::move(predictions)),
      options_(std::move(options)),
      weights_(std::move(weights)),
      advice_{options_.command + ": the model with these texts", options_.hint} {}

void RowModel::take(HostWeights weights) {
  weights_ = std::move(weights);
  state_.reset();
}

RowModel::Shape RowModel::shape_of(const std::vector<TokenRow>& rows) const {
  std::size_t tokens = 1, positions = 1;
  for (const TokenRow& row : rows) {
    tokens = std::max(tokens, row.ids.size());
    positions = std::max(positions, row.positions.size());
  }
  const std::int64_t shards = options_.placement.row_shards();
  return {(power_of_two(rows.size()) + shards - 1) / shards * shards,
          padded_length(static_cast<std::int64_t>(tokens), options_.most_tokens),
          power_of_two(positions)};
}

const RowModel::Compiled& RowModel::compiled(const Shape& shape) {
  const auto found = compiled_.find(shape);
  if (found != compiled_.end()) return found->second;
  Compiled made{.program = model::predict_program(predictions_(shape[1], shape[2]), shape[0],
                                                  {.exact_products = options_.exact_products},
                                                  options_.placement),
                .step = nullptr};
  made.step = std::make_unique<const CompiledStep>(client_, made.program, advice_);
  return compiled_.emplace(shape, std::move(made)).first->second;
}

void RowModel::prepare(const std::vector<TokenRow>& rows) { (void)compiled(shape_of(rows)); }

const io::Features& RowModel::features(const Shape& shape) {
  return compiled(shape).program.features;
}

pjrt::Execution RowModel::start(const data::Batch& batch, const Shape& shape) {
  const Compiled& model = compiled(shape);
  return fitting(advice_, [&] {
    if (!state_)
      state_ = std::make_unique<const ModelState>(
          ModelState::restore(*client_, model.program.placement, model.program.state,
                              *weights_.tensors, weights_.where));
    return model.step->run(batch, *state_);
  });
}

std::vector<float> RowModel::values(const pjrt::Execution& execution) const {
  return fitting(advice_, [&] {
    execution.await();
    return execution.results[0][0].to_host<float>();
  });
}

RowModel::Predicted RowModel::predict(const std::vector<TokenRow>& rows) {
  const Shape shape = shape_of(rows);
  const data::Batch batch = padded_batch(features(shape), rows, shape[0]);
  pjrt::Execution execution = start(batch, shape);
  fitting(advice_, [&] { execution.await(); });
  return {.tokens = shape[1], .positions = shape[2], .execution = std::move(execution)};
}

}  // namespace smelt::execution
