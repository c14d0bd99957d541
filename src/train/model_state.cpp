#include "train/model_state.h"

#include <algorithm>

#include "base/error.h"
#include "train/initialize.h"
#include "train/shards.h"

namespace smelt {
namespace {

const TensorView& find_tensor(const TensorMap& tensors, const std::string& name, const Shape& shape,
                              const std::string& where) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw UsageError(str(where, ": no tensor ", name),
                     "is this the model folder of the same recipe?");
  if (found->second.shape != shape)
    throw UsageError(
        str(where, ": ", name, " is ", found->second.shape, ", the model wants ", shape),
        "use the configuration that the checkpoint was made with");
  return found->second;
}

// Over what was drawn.
void put_given(const StateTensor& tensor, const TensorMap& given, std::span<std::byte> values) {
  const std::size_t size = tensor.shape_of_one().size_bytes();
  for (const std::string& name : tensor.drawn_names()) {
    if (const auto found = given.find(name); found != given.end())
      std::ranges::copy(found->second.data, values.begin());
    values = values.subspan(size);
  }
}

}  // namespace

ModelState::ModelState(const Placement& placement, const StateLayout& layout)
    : layout_(std::make_shared<const StateLayout>(layout)),
      mesh_(placement.partition.mesh),
      buffers_(static_cast<std::size_t>(placement.devices)) {}

void ModelState::put(const Client& client, std::span<const std::byte> bytes,
                     const StateTensor& tensor) {
  const Shape shape = part_shape(mesh_, tensor.sharding, tensor.shape);
  std::vector<std::byte> part;
  for (std::size_t device = 0; device < buffers_.size(); ++device) {
    std::span<const std::byte> own = bytes;
    if (!is_whole(tensor.sharding)) {
      part.resize(shape.size_bytes());
      take_part(mesh_, tensor.sharding, tensor.shape, static_cast<std::int64_t>(device), bytes,
                part);
      own = part;
    }
    buffers_[device].push_back(client.to_device(own, shape, static_cast<int>(device)));
  }
}

ModelState ModelState::fresh(const Client& client, const Placement& placement,
                             const StateLayout& layout, std::uint64_t seed,
                             const TensorMap& given) {
  ModelState state(placement, layout);
  const auto drawn = std::span(layout.tensors).first(layout.values);
  auto values = initial_values(drawn, seed);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    std::vector<float> here = std::move(values[i]);
    put_given(drawn[i], given, std::as_writable_bytes(std::span(here)));
    state.put(client, std::as_bytes(std::span(here)), drawn[i]);
  }
  for (const StateTensor& other : std::span(layout.tensors).subspan(layout.values)) {
    std::vector<float> here = initial_value(other, seed);
    put_given(other, given, std::as_writable_bytes(std::span(here)));
    state.put(client, std::as_bytes(std::span(here)), other);
  }
  return state;
}

ModelState ModelState::restore(const Client& client, const Placement& placement,
                               const StateLayout& layout, const TensorMap& tensors,
                               const std::string& where) {
  ModelState state(placement, layout);
  for (const StateTensor& tensor : layout.tensors) {
    if (!tensor.saved) {
      const std::vector<float> here = initial_value(tensor, 0);
      state.put(client, std::as_bytes(std::span(here)), tensor);
      continue;
    }
    std::vector<std::byte> whole;  // of several layers
    for (const std::string& name : tensor.names()) {
      const TensorView& found = find_tensor(tensors, name, tensor.shape_of_one(), where);
      if (tensor.layers == 0)
        state.put(client, found.data, tensor);
      else
        whole.insert(whole.end(), found.data.begin(), found.data.end());
    }
    if (tensor.layers > 0) state.put(client, whole, tensor);
  }
  return state;
}

ModelState ModelState::of_results(const Placement& placement, const StateLayout& layout,
                                  std::vector<std::vector<Buffer>>& results) {
  ModelState state(placement, layout);
  for (std::size_t device = 0; device < results.size(); ++device)
    for (std::size_t i = 0; i < layout.tensors.size(); ++i)
      state.buffers_[device].push_back(std::move(results[device][i]));
  return state;
}

std::vector<const Buffer*> ModelState::on_device(int device, const StateLayout& layout) const {
  const auto& buffers = buffers_[static_cast<std::size_t>(device)];
  std::vector<const Buffer*> handles;
  for (const StateTensor& tensor : layout.tensors) {
    auto own = layout_->tensors.begin() + std::ssize(handles);  // almost always
    if (handles.size() >= layout_->tensors.size() || own->name != tensor.name)
      own = std::ranges::find(layout_->tensors, tensor.name, &StateTensor::name);
    CHECK(own != layout_->tensors.end() && own->shape == tensor.shape, tensor.name);
    handles.push_back(&buffers[static_cast<std::size_t>(own - layout_->tensors.begin())]);
  }
  return handles;
}

void ModelState::replace(std::vector<std::vector<Buffer>>& results) {
  for (std::size_t device = 0; device < buffers_.size(); ++device)
    for (std::size_t i = 0; i < layout_->tensors.size(); ++i)
      buffers_[device][i] = std::move(results[device][i]);
}

StateCopy ModelState::start_copy() const { return {layout_, mesh_, buffers_}; }

}  // namespace smelt
