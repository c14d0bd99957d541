#include "ask/row_predictor.h"

#include <algorithm>

namespace smelt {
namespace {

// As many rows as divide over the placement: those beyond the texts are empty.
Batch padded_batch(const Features& features, const std::vector<TokenRow>& rows,
                   const Placement& placement) {
  const std::int64_t parts = placement.row_shards();
  Batch batch = empty_batch(features, (std::ssize(rows) + parts - 1) / parts * parts);
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

}  // namespace

RowPredictor::RowPredictor(std::string_view command, std::shared_ptr<const Client> client,
                           const Prediction& prediction, const std::vector<TokenRow>& rows,
                           bool exact_products, const Placement& placement)
    : client_(std::move(client)),
      batch_(padded_batch(prediction.features, rows, placement)),
      program_(
          predict_program(prediction, batch_.rows, {.exact_products = exact_products}, placement)),
      advice_{str(command, ": the model with these texts"),
              "give fewer texts at a time, or shorter ones"},
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

}  // namespace smelt
