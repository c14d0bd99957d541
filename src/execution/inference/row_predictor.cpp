#include "execution/inference/row_predictor.h"

#include <algorithm>
#include <bit>

namespace smelt {
namespace {

constexpr std::array<std::int64_t, 10> kLengths{16, 32, 64, 96, 128, 192, 256, 320, 384, 448};

MemoryAdvice advice_to(std::string_view command) {
  return {str(command, ": the model with these texts"),
          "give fewer texts at a time, or shorter ones"};
}

// Returns a batch of `count` rows. Those beyond the given ones are empty.
Batch padded_batch(const Features& features, const std::vector<TokenRow>& rows,
                   std::int64_t count) {
  Batch batch = empty_batch(features, count);
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
  }
  return batch;
}

// Returns how many rows divide over the placement.
std::int64_t divisible(std::int64_t rows, const ShardingPlan& placement) {
  const std::int64_t parts = placement.row_shards();
  return (rows + parts - 1) / parts * parts;
}

std::int64_t power_of_two(std::size_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(std::max<std::size_t>(count, 1)));
}

}  // namespace

RowPredictor::RowPredictor(std::string_view command, std::shared_ptr<const Client> client,
                           const Prediction& prediction, const std::vector<TokenRow>& rows,
                           bool exact_products, const ShardingPlan& placement)
    : client_(std::move(client)),
      batch_(padded_batch(prediction.features, rows, divisible(std::ssize(rows), placement))),
      program_(
          predict_program(prediction, batch_.rows, {.exact_products = exact_products}, placement)),
      advice_(advice_to(command)),
      step_(client_, program_, advice_) {}

Execution RowPredictor::ask(const SlicedTensors& tensors, const std::string& where) const {
  return fitting(advice_, [&] {
    const ModelState state =
        ModelState::restore(*client_, program_.placement, program_.state, tensors, where);
    Execution execution = step_.run(batch_, state);
    execution.await();
    return execution;
  });
}

std::int64_t padded_length(std::int64_t tokens, std::int64_t most) {
  const auto found = std::ranges::lower_bound(kLengths, tokens);
  return found == kLengths.end() ? most : std::min(*found, most);
}

RowModel::RowModel(std::shared_ptr<const Client> client, Predictions predictions,
                   RowModelOptions options, std::shared_ptr<const SlicedTensors> tensors,
                   std::string where)
    : client_(std::move(client)),
      predictions_(std::move(predictions)),
      options_(std::move(options)),
      tensors_(std::move(tensors)),
      where_(std::move(where)),
      advice_(advice_to(options_.command)) {}

const RowModel::Compiled& RowModel::compiled(const Shape& shape) {
  const auto found = compiled_.find(shape);
  if (found != compiled_.end()) return found->second;
  Compiled made{.program = predict_program(predictions_(shape[1], shape[2]), shape[0],
                                           {.exact_products = options_.exact_products}),
                .step = nullptr};
  made.step = std::make_unique<const CompiledStep>(client_, made.program, advice_);
  return compiled_.emplace(shape, std::move(made)).first->second;
}

RowModel::Predicted RowModel::predict(const std::vector<TokenRow>& rows) {
  std::size_t tokens = 1, positions = 1;
  for (const TokenRow& row : rows) {
    tokens = std::max(tokens, row.ids.size());
    positions = std::max(positions, row.positions.size());
  }
  const Shape shape{power_of_two(rows.size()),
                    padded_length(static_cast<std::int64_t>(tokens), options_.most_tokens),
                    power_of_two(positions)};
  const Compiled& model = compiled(shape);
  const Batch batch = padded_batch(model.program.features, rows, shape[0]);
  Execution execution = fitting(advice_, [&] {
    if (!state_)
      state_ = std::make_unique<const ModelState>(ModelState::restore(
          *client_, model.program.placement, model.program.state, *tensors_, where_));
    Execution run = model.step->run(batch, *state_);
    run.await();
    return run;
  });
  return {.tokens = shape[1], .positions = shape[2], .execution = std::move(execution)};
}

}  // namespace smelt
