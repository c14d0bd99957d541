#include "train/model_state.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/initialize.h"

namespace smelt {
namespace {

bool all_finite(std::span<const std::byte> bytes) {
  const auto* values = reinterpret_cast<const float*>(bytes.data());
  return std::all_of(values, values + bytes.size() / sizeof(float),
                     [](float value) { return std::isfinite(value); });
}

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

}  // namespace

std::optional<std::string> first_not_finite(const HostState& state) {
  for (const auto& [name, view] : state.tensors) {
    CHECK(view.shape.dtype == DType::f32, name);
    if (!all_finite(view.data)) return name;
  }
  return std::nullopt;
}

ModelState::ModelState(int devices, const StateLayout& layout)
    : layout_(layout), buffers_(static_cast<std::size_t>(devices)) {}

void ModelState::put(const Client& client, std::span<const std::byte> bytes, const Shape& shape) {
  for (std::size_t device = 0; device < buffers_.size(); ++device)
    buffers_[device].push_back(client.to_device(bytes, shape, static_cast<int>(device)));
}

ModelState ModelState::fresh(const Client& client, int devices, const StateLayout& layout,
                             std::uint64_t seed) {
  ModelState state(devices, layout);
  const auto drawn = std::span(layout.tensors).first(layout.values);
  auto values = initial_values(drawn, seed);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::vector<float> here = std::move(values[i]);
    state.put(client, std::as_bytes(std::span(here)), drawn[i].shape);
  }
  for (const StateTensor& slot : std::span(layout.tensors).subspan(layout.values)) {
    const std::vector<float> here = initial_value(slot, seed);
    state.put(client, std::as_bytes(std::span(here)), slot.shape);
  }
  return state;
}

ModelState ModelState::restore(const Client& client, int devices, const StateLayout& layout,
                               const TensorMap& tensors, const std::string& where) {
  ModelState state(devices, layout);
  for (const StateTensor& tensor : layout.tensors) {
    std::vector<std::byte> whole;  // of several layers
    for (const std::string& name : tensor.names()) {
      const TensorView& found = find_tensor(tensors, name, tensor.shape_of_one(), where);
      if (tensor.layers == 0)
        state.put(client, found.data, tensor.shape);
      else
        whole.insert(whole.end(), found.data.begin(), found.data.end());
    }
    if (tensor.layers > 0) state.put(client, whole, tensor.shape);
  }
  return state;
}

std::vector<const Buffer*> ModelState::on_device(int device) const {
  std::vector<const Buffer*> handles;
  for (const Buffer& buffer : buffers_[static_cast<std::size_t>(device)])
    handles.push_back(&buffer);
  return handles;
}

void ModelState::replace(std::vector<std::vector<Buffer>>& results) {
  for (std::size_t device = 0; device < buffers_.size(); ++device)
    for (std::size_t i = 0; i < layout_.tensors.size(); ++i)
      buffers_[device][i] = std::move(results[device][i]);
}

HostState ModelState::download() const {
  HostState host;
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    const StateTensor& tensor = layout_.tensors[i];
    const Shape one = tensor.shape_of_one();
    auto& bytes = host.memory.emplace_back(tensor.shape.size_bytes());
    buffers_.front()[i].copy_to_host(bytes);
    std::span<const std::byte> rest = bytes;
    for (const std::string& name : tensor.names()) {
      host.tensors[name] = {one, rest.first(one.size_bytes())};
      rest = rest.subspan(one.size_bytes());
    }
  }
  return host;
}

}  // namespace smelt
