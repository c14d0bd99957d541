#include "train/model_state.h"

#include <algorithm>

#include "base/error.h"
#include "train/initialize.h"

namespace smelt {
namespace {

constexpr std::string_view kFirstMoment = "/adam_m", kSecondMoment = "/adam_v";

}  // namespace

std::vector<std::string> state_names(const Parameters& parameters, StateParts parts) {
  std::vector<std::string> names;
  for (const Parameter& p : parameters.all()) names.push_back(p.name);
  if (parts == StateParts::values_and_moments)
    for (const std::string_view slot : {kFirstMoment, kSecondMoment})
      for (const Parameter& p : parameters.all()) names.push_back(str(p.name, slot));
  return names;
}

void ModelState::put(const Client& client, std::span<const std::byte> bytes, const Shape& shape) {
  for (std::size_t device = 0; device < buffers_.size(); ++device)
    buffers_[device].push_back(client.to_device(bytes, shape, static_cast<int>(device)));
}

ModelState ModelState::fresh(const Client& client, int devices, const Parameters& parameters,
                             StateParts parts, std::uint64_t seed) {
  ModelState state(devices, state_names(parameters, parts));
  std::size_t largest = 0, i = 0;
  for (auto& values : initial_values(parameters, seed)) {
    const std::vector<float> here = std::move(values);
    state.put(client, std::as_bytes(std::span(here)), parameters.all()[i++].tensor.shape());
    largest = std::max(largest, here.size() * sizeof(float));
  }
  const std::vector<std::byte> zeros(largest);
  for (; i < state.names_.size(); ++i) {
    const Shape& shape = parameters.all()[i % parameters.all().size()].tensor.shape();
    state.put(client, std::span(zeros).first(shape.size_bytes()), shape);
  }
  return state;
}

ModelState ModelState::restore(const Client& client, int devices, const Parameters& parameters,
                               StateParts parts, const TensorMap& tensors,
                               const std::string& where) {
  ModelState state(devices, state_names(parameters, parts));
  for (std::size_t i = 0; i < state.names_.size(); ++i) {
    const std::string& name = state.names_[i];
    const Shape& shape = parameters.all()[i % parameters.all().size()].tensor.shape();
    const auto found = tensors.find(name);
    if (found == tensors.end())
      throw UsageError(str(where, ": no tensor ", name),
                       "is this the model folder of the same recipe?");
    if (!(found->second.shape == shape))
      throw UsageError(
          str(where, ": ", name, " is ", found->second.shape, ", the model wants ", shape),
          "use the configuration that the checkpoint was made with");
    state.put(client, found->second.data, shape);
  }
  return state;
}

std::vector<const Buffer*> ModelState::on_device(int device) const {
  std::vector<const Buffer*> handles;
  for (const Buffer& buffer : buffers_[device]) handles.push_back(&buffer);
  return handles;
}

void ModelState::replace(std::vector<std::vector<Buffer>>& results) {
  for (std::size_t device = 0; device < buffers_.size(); ++device)
    for (std::size_t i = 0; i < names_.size(); ++i)
      buffers_[device][i] = std::move(results[device][i]);
}

HostState ModelState::download() const {
  HostState host;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Buffer& buffer = buffers_.front()[i];
    const Shape shape = buffer.shape();
    auto& bytes = host.memory.emplace_back(shape.size_bytes());
    buffer.copy_to_host(bytes);
    host.tensors[names_[i]] = {shape, bytes};
  }
  return host;
}

}  // namespace smelt
