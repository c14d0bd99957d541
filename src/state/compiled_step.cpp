#include "state/compiled_step.h"

#include "base/error.h"
#include "checkpoint/lazy_files.h"
#include "runtime/compile_cache.h"
#include "state/placement_options.h"

namespace smelt {

MemoryAdvice advice_for_training(const std::string& what, const Fields& fields) {
  return {what,
          str("set ", fields("save"), " to layer (with ", fields("layers"), " scan) or raise ",
              fields("micro_batches"), "; more devices or ", fields("mesh"), " fsdp=… help, too")};
}

void throw_does_not_fit(const PjrtError& error, const MemoryAdvice& advice) {
  const std::string_view text = error.what();
  // A late CPU error has no code.
  if (error.code() != pjrt::ErrorCode::resource_exhausted &&
      text.find(": Out of memory") == text.npos)
    throw;
  const auto begin = text.find("the total memory required");
  const std::string_view figures = begin == text.npos
                                       ? text.substr(0, text.find('\n'))
                                       : text.substr(begin, text.find(". ", begin) - begin);
  throw UsageError(str(advice.what, " does not fit into the memory of a device: ", figures),
                   advice.hint);
}

namespace {

std::shared_ptr<const ModelState> put_held(const Client& client, const StepProgram& program) {
  if (program.held.tensors.empty()) return nullptr;
  LazyTensors wanted;
  for (const StateTensor& tensor : program.held.tensors)
    for (const std::string& name : tensor.stored_names())
      wanted.emplace(name, as_dtype(program.holds->values->at(name), DType::f32));
  const HeldTensors values = hold_tensors(wanted);
  return std::make_shared<const ModelState>(ModelState::restore(
      client, program.placement, program.held, values.tensors, program.holds->where));
}

}  // namespace

CompiledStep::CompiledStep(std::shared_ptr<const Client> client, const StepProgram& program,
                           MemoryAdvice advice, std::shared_ptr<const ModelState> held)
    : client_(std::move(client)),
      advice_(std::move(advice)),
      placement_(program.placement),
      held_layout_(program.held),
      state_(program.state),
      takes_step_(program.takes_step),
      takes_replica_(program.takes_replica),
      executable_(fitting(advice_,
                          [&] {
                            return compile_cached(*client_, emit_module(program.program, "step"),
                                                  compile_options(placement_));
                          })),
      held_(held ? std::move(held)
                 : fitting(advice_, [&] { return put_held(*client_, program); })) {}

void CompiledStep::put_batch(const Batch& batch, int device, std::vector<Buffer>& out) const {
  const std::int64_t parts = placement_.row_shards();
  CHECK(batch.rows % parts == 0, batch.rows, " rows for ", parts, " devices");
  for (const HostArray& array : batch.arrays) {
    Shape part = array.shape;
    part.dims[0] /= parts;
    const std::size_t size = part.size_bytes();
    const auto bytes =
        std::span(array.bytes)
            .subspan(static_cast<std::size_t>(placement_.row_shard(device)) * size, size);
    out.push_back(client_->to_device(bytes, part, device));
  }
}

Execution CompiledStep::run(const Batch& batch, const ModelState& state,
                            std::optional<std::int64_t> step) const {
  CHECK(step.has_value() == takes_step_);
  return fitting(advice_, [&] { return start(batch, state, step); });
}

Execution CompiledStep::start(const Batch& batch, const ModelState& state,
                              std::optional<std::int64_t> step) const {
  const int devices = static_cast<int>(placement_.devices);
  std::vector<std::vector<Buffer>> inputs(static_cast<std::size_t>(devices));
  std::vector<std::vector<const Buffer*>> arguments;
  for (int device = 0; device < devices; ++device) {
    auto& own = inputs[static_cast<std::size_t>(device)];
    put_batch(batch, device, own);
    const auto put_scalar = [&](std::int32_t value) {
      own.push_back(
          client_->to_device(std::as_bytes(std::span(&value, 1)), {DType::s32, {}}, device));
    };
    if (step) put_scalar(static_cast<std::int32_t>(*step));
    if (takes_replica_) put_scalar(device);
    auto& handles = arguments.emplace_back();
    for (const Buffer& buffer : own) handles.push_back(&buffer);
    if (held_)
      for (const Buffer* buffer : held_->on_device(device, held_layout_)) handles.push_back(buffer);
    for (const Buffer* buffer : state.on_device(device, state_)) handles.push_back(buffer);
  }
  return executable_.execute(arguments);
}

}  // namespace smelt
