#include "train/compiled_step.h"

#include "base/error.h"

namespace smelt {
namespace {

CompileOptions compile_options(std::int64_t devices, bool per_replica) {
  CompileOptions options;
  (per_replica ? options.num_replicas : options.num_partitions) = static_cast<int>(devices);
  return options;
}

}  // namespace

CompiledStep::CompiledStep(std::shared_ptr<const Client> client, const PretrainingConfig& config,
                           const PretrainingProgram& program)
    : client_(std::move(client)),
      devices_(static_cast<int>(config.devices)),
      per_replica_(program.takes_replica),
      executable_(client_->compile(emit_module(program.program, "pretraining"),
                                   compile_options(config.devices, per_replica_))) {}

std::vector<Buffer> CompiledStep::put_batch(const BertBatch& batch, int device) const {
  const std::int64_t rows = batch.batch / devices_;
  std::vector<Buffer> buffers;
  const auto put = [&](const auto& values, DType dtype, Dims row) {
    std::int64_t width = 1;
    for (const auto d : row) width *= d;
    const auto part = std::span(values).subspan(device * rows * width, rows * width);
    row.insert(row.begin(), rows);
    buffers.push_back(client_->to_device(std::as_bytes(part), {dtype, row}, device));
  };
  put(batch.input_ids, DType::s32, {batch.seq_length});
  put(batch.input_mask, DType::s32, {batch.seq_length});
  put(batch.segment_ids, DType::s32, {batch.seq_length});
  put(batch.masked_lm_positions, DType::s32, {batch.max_predictions});
  put(batch.masked_lm_ids, DType::s32, {batch.max_predictions});
  put(batch.masked_lm_weights, DType::f32, {batch.max_predictions});
  put(batch.next_sentence_labels, DType::s32, {});
  return buffers;
}

Execution CompiledStep::run(const BertBatch& batch, std::span<const std::int32_t> scalars,
                            const ModelState& state) const {
  std::vector<std::vector<Buffer>> inputs;
  std::vector<std::vector<const Buffer*>> arguments;
  for (int device = 0; device < devices_; ++device) {
    auto& own = inputs.emplace_back(put_batch(batch, device));
    const auto put_scalar = [&](std::int32_t value) {
      own.push_back(
          client_->to_device(std::as_bytes(std::span(&value, 1)), {DType::s32, {}}, device));
    };
    for (const std::int32_t value : scalars) put_scalar(value);
    if (per_replica_) put_scalar(device);
    auto& handles = arguments.emplace_back();
    for (const Buffer& buffer : own) handles.push_back(&buffer);
    for (const Buffer* buffer : state.on_device(device)) handles.push_back(buffer);
  }
  return executable_.execute(arguments);
}

}  // namespace smelt
