#include "runs/mesh_bert.h"

#include "base/philox.h"
#include "execution/train_state/compiled_step.h"
#include "model/optim/adamw.h"

namespace smelt {

model::BertTask mesh_bert(double dropout) {
  model::BertTask bert{.seq_length = 16, .max_predictions = 4};
  bert.model.vocab_size = 328;
  bert.model.hidden_size = 64;
  bert.model.num_hidden_layers = 2;
  bert.model.num_attention_heads = 8;
  bert.model.intermediate_size = 128;
  bert.model.max_position_embeddings = 16;
  bert.model.type_vocab_size = 2;
  bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = dropout;
  return bert;
}

data::Batch mesh_batch(const io::Features& features, std::int64_t rows, std::uint64_t seed) {
  data::Batch batch = data::empty_batch(features, rows);
  std::uint64_t drawn = 0;
  const auto draw = [&](std::int64_t limit) {
    return static_cast<std::int32_t>(philox(seed, drawn++, 0)[0] % limit);
  };
  for (std::size_t f = 0; f < features.size(); ++f) {
    const io::Feature& feature = features[f];
    const std::int64_t width = batch.arrays[f].shape.elements() / rows;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i) {
        const auto at = static_cast<std::size_t>(row * width + i);
        if (feature.dtype == compiler::DType::f32)
          batch.arrays[f].values<float>()[at] = i <= row % width ? 1.0f : 0.0f;
        else if (feature.name == "input_mask")
          batch.arrays[f].values<std::int32_t>()[at] = i < width - row % 5 ? 1 : 0;
        else
          batch.arrays[f].values<std::int32_t>()[at] = draw(feature.limit);
      }
  }
  return batch;
}

model::TrainingConfig mesh_config(std::int64_t devices) {
  model::TrainingConfig c;
  c.batch_size = 32;
  c.devices = devices;
  c.schedule = {.learning_rate = 3e-3, .warmup_steps = 1, .total_steps = 10, .power = 1.0};
  c.optimizer = model::adamw({});
  return c;
}

model::ShardingPlan mesh_placement(const std::string& mesh, bool split_slots) {
  return model::placement_for(
      "tpu", 8, model::Reduction::global,
      model::partition_for({.mesh = mesh, .shard_optimizer_state = split_slots}, 8));
}

MeshRan run_mesh_steps(const std::shared_ptr<const pjrt::Client>& client,
                       const model::BertTask& bert, const model::TrainingConfig& config,
                       const model::ShardingPlan& placement) {
  const model::Task task = model::bert_task(bert);
  const data::Batch batch = mesh_batch(task.features, config.batch_size, 1);
  const model::StepProgram program = model::train_program(task, config, placement);
  const execution::CompiledStep step(client, program);
  execution::ModelState state =
      execution::ModelState::fresh(*client, placement, program.state, config.seed);
  MeshRan out;
  for (int i = 0; i < kMeshSteps; ++i) {
    pjrt::Execution execution = step.run(batch, state, i);
    out.losses.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
    if (i == 0) out.first = values_of(state);
  }
  return out;
}

}  // namespace smelt
