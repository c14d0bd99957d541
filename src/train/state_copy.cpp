#include "train/state_copy.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/error.h"
#include "train/shards.h"

namespace smelt {
namespace {

// By the bits, without a jump, in blocks: the compiler takes several values at a time.
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
  for (const auto& [name, view] : state.tensors) {
    CHECK(view.shape.dtype == DType::f32, name);
    if (!all_finite(view.data)) return name;
  }
  return std::nullopt;
}

StateCopy::Part::Part(const Buffer& buffer, std::size_t tensor, std::int64_t device)
    : tensor(tensor),
      device(device),
      size(buffer.shape().size_bytes()),
      values(std::make_unique_for_overwrite<std::byte[]>(size)),
      copied(buffer.start_copy_to_host({values.get(), size})) {}

StateCopy::Part::~Part() {
  if (values == nullptr) return;
  try {
    copied.await();
  } catch (const PjrtError&) {  // nobody wants the values any more
  }
}

StateCopy::StateCopy(std::shared_ptr<const StateLayout> layout, const Mesh& mesh,
                     const Buffers& buffers)
    : layout_(std::move(layout)), mesh_(mesh) {
  for (std::size_t i = 0; i < layout_->tensors.size(); ++i) {
    if (!layout_->tensors[i].saved) continue;
    const Sharding& sharding = layout_->tensors[i].sharding;
    std::set<std::int64_t> begun;
    for (std::size_t device = 0; device < buffers.size(); ++device) {
      const auto number = static_cast<std::int64_t>(device);
      if (begun.insert(is_whole(sharding) ? 0 : part_number(mesh_, sharding, number)).second)
        parts_.emplace_back(buffers[device][i], i, number);
    }
  }
}

// Frees the part: of all parts and all whole tensors there is never more than one twice.
void StateCopy::place(Part part, HostState::Memory& whole) const {
  const StateTensor& tensor = layout_->tensors[part.tensor];
  part.copied.await();
  if (is_whole(tensor.sharding)) {
    whole = std::move(part.values);
    return;
  }
  const std::size_t size = tensor.shape.size_bytes();
  if (whole == nullptr) whole = std::make_unique_for_overwrite<std::byte[]>(size);
  place_part(mesh_, tensor.sharding, tensor.shape, part.device, {part.values.get(), part.size},
             {whole.get(), size});
}

void StateCopy::add(std::size_t index, HostState::Memory whole) {
  const StateTensor& tensor = layout_->tensors[index];
  const Shape one = tensor.shape_of_one();
  std::span<const std::byte> rest(whole.get(), tensor.shape.size_bytes());
  for (const std::string& name : tensor.names()) {
    host_.tensors[name] = {one, rest.first(one.size_bytes())};
    rest = rest.subspan(one.size_bytes());
  }
  host_.memory.push_back(std::move(whole));
}

const HostState& StateCopy::host() {
  while (!parts_.empty()) {
    const std::size_t tensor = parts_.front().tensor;
    HostState::Memory whole;
    while (!parts_.empty() && parts_.front().tensor == tensor) {
      place(std::move(parts_.front()), whole);
      parts_.pop_front();
    }
    add(tensor, std::move(whole));
  }
  return host_;
}

HostState StateCopy::take() {
  (void)host();
  return std::move(host_);
}

}  // namespace smelt
