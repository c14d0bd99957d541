#include "execution/train_state/state_copy.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "execution/train_state/shards.h"

namespace smelt::execution {
namespace {

// Returns whether all f32 values are finite. Tests bits in blocks without branches, so that the
// compiler vectorizes the loop.
bool all_finite(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  constexpr std::size_t kBlock = 4096;
  const std::span values(reinterpret_cast<const std::uint32_t*>(bytes.data()),
                         bytes.size() / sizeof(float));
  for (std::size_t at = 0; at < values.size(); at += kBlock) {
    bool bad = false;
    for (const std::uint32_t value : values.subspan(at, std::min(kBlock, values.size() - at)))
      bad |= (value & kExponent) == kExponent;
    if (bad) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> first_not_finite(const HostState& state) {
  for (const auto& [name, tensor] : state.tensors) {
    // Skips integer tensors, such as the ids of a recorded batch.
    if (tensor.shape.dtype != compiler::DType::f32) continue;
    for (const checkpoint::TensorSlice& slice : tensor.slices)
      if (!all_finite(slice.part.data)) return name;
  }
  return std::nullopt;
}

StateCopy::Part::Part(const pjrt::Buffer& buffer, std::size_t tensor, compiler::Dims begin)
    : tensor(tensor),
      begin(std::move(begin)),
      shape(buffer.shape()),
      values(std::make_unique_for_overwrite<std::byte[]>(shape.size_bytes())),
      copied(buffer.start_copy_to_host({values.get(), shape.size_bytes()})) {}

StateCopy::Part::~Part() {
  if (values == nullptr) return;
  try {
    copied.await();
  } catch (const pjrt::PjrtError&) {  // the values are not needed any more
  }
}

StateCopy::StateCopy(std::shared_ptr<const model::StateLayout> layout, const compiler::Mesh& mesh,
                     std::span<const pjrt::OwnDevice> devices, const Buffers& buffers)
    : layout_(std::move(layout)) {
  for (std::size_t i = 0; i < layout_->tensors.size(); ++i) {
    const model::StateTensor& tensor = layout_->tensors[i];
    if (!tensor.saved) continue;
    std::set<compiler::Dims> begun;
    for (std::size_t own = 0; own < buffers.size(); ++own) {
      compiler::Dims begin = part_begin(mesh, tensor.sharding, tensor.shape, devices[own].place);
      if (begun.insert(begin).second) parts_.emplace_back(buffers[own][i], i, std::move(begin));
    }
  }
}

// Splits a stack into one slice per layer; the layer axis is never sharded.
void StateCopy::add(Part& part) {
  part.copied.await();
  const model::StateTensor& tensor = layout_->tensors[part.tensor];
  const compiler::Shape of_one = tensor.shape_of_one();
  if (tensor.layers > 0) {
    CHECK(part.shape.dims.front() == tensor.layers, tensor.name, " ", part.shape);
    part.begin.erase(part.begin.begin());
    part.shape.dims.erase(part.shape.dims.begin());
  }
  const std::size_t size = part.shape.size_bytes();
  const std::byte* values = part.values.get();
  for (const std::string& name : tensor.stored_names()) {
    checkpoint::SlicedTensor& out = host_.tensors[name];
    out.shape = of_one;
    out.slices.push_back({.begin = part.begin, .part = {part.shape, {values, size}}});
    values += size;
  }
  host_.memory.push_back(std::move(part.values));
}

const HostState& StateCopy::host() {
  // A part that failed stays at the front, so that the next call throws again.
  for (; !parts_.empty(); parts_.pop_front()) add(parts_.front());
  return host_;
}

HostState StateCopy::take() {
  (void)host();
  return std::move(host_);
}

}  // namespace smelt::execution
