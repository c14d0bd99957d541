#include "train/ask_model.h"

#include <algorithm>

#include "train/compiled_step.h"
#include "train/resume.h"

namespace smelt {
namespace {

Batch padded_batch(const Features& features, const std::vector<TokenRow>& rows) {
  Batch batch = empty_batch(features, std::ssize(rows));
  const auto put = [&](std::string_view name, std::size_t row, const auto& values) {
    for (std::size_t i = 0; i < features.size(); ++i)
      if (features[i].name == name)
        std::ranges::copy(values, batch.arrays[i].values<std::int32_t>().begin() +
                                      static_cast<std::ptrdiff_t>(row) * features[i].count());
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    put("input_ids", row, rows[row].ids);
    put("input_mask", row, std::vector<std::int32_t>(rows[row].ids.size(), 1));
    put("masked_lm_positions", row, rows[row].positions);
  }
  return batch;
}

}  // namespace

Execution ask_model(std::string_view command, const TrainedModelFiles& files,
                    const Prediction& prediction, const std::vector<TokenRow>& rows) {
  const auto [checkpoint, where] =
      load_trained_model(command, files.model_dir, files.model, files.vocab, files.averaged);
  const StepProgram program = predict_program(prediction, std::ssize(rows), files.exact_products);
  const auto client = open_device(files.device, 1);
  const MemoryAdvice advice{str(command, ": the model with these texts"),
                            "give fewer texts at a time, or shorter ones"};
  const CompiledStep step(client, program, advice);
  return fitting(advice, [&] {
    const ModelState state =
        ModelState::restore(*client, program.placement, program.state, checkpoint.tensors, where);
    Execution execution = step.run(padded_batch(prediction.features, rows), state);
    execution.await();
    return execution;
  });
}

}  // namespace smelt
