#include "execution/train_state/compiled_step.h"

#include <array>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"
#include "execution/train_state/placement_options.h"
#include "pjrt/compile_cache.h"

namespace smelt::execution {

MemoryAdvice advice_for_training(const std::string& what, const Fields& fields) {
  return {what,
          str("set ", fields("memory.remat_policy"), " to layer (with ", fields("memory.layers"),
              " scan) or raise ", fields("gradient_accumulation_steps"), "; more devices or ",
              fields("parallelism.mesh"), " fsdp=… also help")};
}

namespace {

// Returns a UsageError with the memory sizes from the plugin's message, or nullopt if `error` is
// not an out-of-memory error.
std::optional<UsageError> out_of_memory_error(const pjrt::PjrtError& error,
                                              const MemoryAdvice& advice) {
  const std::string_view text = error.what();
  // On the CPU an error during execution has no error code.
  if (error.code() != pjrt_abi::ErrorCode::resource_exhausted &&
      text.find(": Out of memory") == text.npos)
    return std::nullopt;
  const auto begin = text.find("the total memory required");
  const std::string figures = begin == text.npos
                                  ? first_line(text)
                                  : std::string(text.substr(begin, text.find(". ", begin) - begin));
  return UsageError(str(advice.what, " does not fit into the memory of a device: ", figures),
                    advice.hint);
}

}  // namespace

void throw_does_not_fit(const pjrt::PjrtError& error, const MemoryAdvice& advice) {
  if (const auto usage_error = out_of_memory_error(error, advice)) throw *usage_error;
  throw;
}

data::HostShare own_share(const model::ShardingPlan& placement, const pjrt::Client& client) {
  const std::vector<pjrt::OwnDevice> devices = client.own_devices(placement.devices);
  if (devices.empty()) return {};
  const std::int64_t all = placement.row_shards();
  const std::int64_t first = placement.row_shard(devices.front().place);
  const std::int64_t count = placement.row_shard(devices.back().place) - first + 1;
  // Every process reads the global batch if processes have unequal numbers of devices.
  if (all % count != 0 || first % count != 0) return {};
  return {.host = first / count, .hosts = all / count};
}

namespace {

std::shared_ptr<const ModelState> put_held(const pjrt::Client& client,
                                           const model::StepProgram& program) {
  if (program.held.tensors.empty()) return nullptr;
  io::LazyTensors wanted;
  for (const model::StateTensor& tensor : program.held.tensors)
    for (const std::string& name : tensor.stored_names())
      wanted.emplace(name,
                     checkpoint::as_dtype(program.frozen->values->at(name), compiler::DType::f32));
  const checkpoint::StoredTensors values = checkpoint::load_undecoded(wanted);
  return std::make_shared<const ModelState>(ModelState::restore(
      client, program.placement, program.held, values.tensors, program.frozen->where));
}

pjrt::Executable compiled(const pjrt::Client& client, const model::StepProgram& program,
                          const MemoryAdvice& advice) try {
  return pjrt::compile_cached(client, compiler::emit_module(program.program, "step"),
                              compile_options(program.placement));
} catch (const pjrt::PjrtError& error) {
  if (const auto usage_error = out_of_memory_error(error, advice))
    throw ProgramDoesNotFit(*usage_error);
  throw;
}

std::int64_t batch_rows_of(const model::StepProgram& program) {
  const auto& arguments = program.program.graph.arguments();
  CHECK(!arguments.empty());
  return arguments.front().dim(0) * program.placement.replicas();
}

}  // namespace

CompiledStep::CompiledStep(std::shared_ptr<const pjrt::Client> client,
                           const model::StepProgram& program, MemoryAdvice advice,
                           std::shared_ptr<const ModelState> held)
    : client_(std::move(client)),
      advice_(std::move(advice)),
      placement_(program.placement),
      devices_(client_->own_devices(placement_.devices)),
      share_(own_share(placement_, *client_)),
      batch_rows_(batch_rows_of(program)),
      held_layout_(program.held),
      state_(program.state),
      takes_step_(program.takes_step),
      takes_replica_(program.takes_replica),
      takes_wishes_(program.takes_wishes),
      rate_(program.rate),
      executable_(compiled(*client_, program, advice_)),
      held_(held ? std::move(held)
                 : fitting(advice_, [&] { return put_held(*client_, program); })) {
  const compiler::Shape shape{compiler::DType::u32, {std::ssize(program.keys)}};
  if (program.keys.empty()) return;
  for (const pjrt::OwnDevice& to : devices_)
    keys_.push_back(client_->to_device(std::as_bytes(std::span(program.keys)), shape, to.device));
}

void CompiledStep::put_batch(const data::Batch& batch, const pjrt::OwnDevice& to,
                             std::vector<pjrt::Buffer>& out) const {
  const data::HostShare share = batch.rows == batch_rows_ ? data::HostShare() : share_;
  CHECK(batch.rows * share.hosts == batch_rows_, batch.rows, " rows for ", batch_rows_);
  const std::int64_t parts = placement_.row_shards() / share.hosts;
  const std::int64_t part_number = placement_.row_shard(to.place) - share.host * parts;
  CHECK(batch.rows % parts == 0, batch.rows, " rows for ", parts, " devices");
  for (const data::HostArray& array : batch.arrays) {
    compiler::Shape part = array.shape;
    part.dims[0] /= parts;
    const std::size_t size = part.size_bytes();
    const auto bytes =
        std::span(array.bytes).subspan(static_cast<std::size_t>(part_number) * size, size);
    out.push_back(client_->to_device(bytes, part, to.device));
  }
}

pjrt::Buffer CompiledStep::put_wishes(const model::ConsensusFlags& wishes, int device) const {
  const std::array<float, 2> values{wishes.stop ? 1.0f : 0.0f, wishes.save ? 1.0f : 0.0f};
  const bool replica = placement_.spread == model::Parallelism::replicas;
  return client_->to_device(
      std::as_bytes(std::span(values)),
      {compiler::DType::f32, replica ? compiler::Dims{2} : compiler::Dims{1, 2}}, device);
}

pjrt::Execution CompiledStep::run(const data::Batch& batch, const ModelState& state,
                                  std::optional<std::int64_t> step,
                                  const model::ConsensusFlags& wishes) const {
  CHECK(step.has_value() == takes_step_);
  return fitting(advice_, [&] { return start(batch, state, step, wishes); });
}

pjrt::Execution CompiledStep::start(const data::Batch& batch, const ModelState& state,
                                    std::optional<std::int64_t> step,
                                    const model::ConsensusFlags& wishes) const {
  std::vector<std::vector<pjrt::Buffer>> inputs(devices_.size());
  std::vector<std::vector<const pjrt::Buffer*>> arguments;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    auto& own = inputs[i];
    put_batch(batch, devices_[i], own);
    const auto put_scalar = [&](auto value, compiler::DType dtype) {
      own.push_back(
          client_->to_device(std::as_bytes(std::span(&value, 1)), {dtype, {}}, devices_[i].device));
    };
    if (step) put_scalar(static_cast<std::int32_t>(*step), compiler::DType::s32);
    if (takes_replica_) put_scalar(std::int32_t{devices_[i].place}, compiler::DType::s32);
    if (rate_) put_scalar(rate_(step.value()), compiler::DType::f32);
    if (takes_wishes_) own.push_back(put_wishes(wishes, devices_[i].device));
    auto& handles = arguments.emplace_back();
    for (const pjrt::Buffer& buffer : own) handles.push_back(&buffer);
    if (!keys_.empty()) handles.push_back(&keys_[i]);
    if (held_)
      for (const pjrt::Buffer* buffer : held_->on_device(i, held_layout_))
        handles.push_back(buffer);
    for (const pjrt::Buffer* buffer : state.on_device(i, state_)) handles.push_back(buffer);
  }
  return executable_.execute(arguments);
}

}  // namespace smelt::execution
