// The tensors that training carries from step to step: values, then first and second moments, one
// buffer on every device (replicated).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/safetensors.h"
#include "nn/scope.h"
#include "runtime/buffer.h"

namespace smelt {

// Which tensors a program takes: the values alone, or the moments too.
enum class StateParts { values, values_and_moments };

// "bert/pooler/dense/bias", then "bert/pooler/dense/bias/adam_m" …: the original checkpoint's
// names, in the order of the programs' arguments.
std::vector<std::string> state_names(const Parameters& parameters, StateParts parts);

// Named tensors on the host, with the memory behind the views.
struct HostState {
  TensorMap tensors;
  std::vector<std::vector<std::byte>> memory;
};

class ModelState {
 public:
  // Fresh values by each parameter's Init; moments are zero.
  static ModelState fresh(const Client& client, int devices, const Parameters& parameters,
                          StateParts parts, std::uint64_t seed);
  // From named tensors on the host. UsageError when one is missing or has another shape (both
  // shapes); `where` begins the message.
  static ModelState restore(const Client& client, int devices, const Parameters& parameters,
                            StateParts parts, const TensorMap& tensors, const std::string& where);

  // Every tensor's handle on one device, to follow the other arguments.
  std::vector<const Buffer*> on_device(int device) const;
  // Takes the first results of a training step as the new state.
  void replace(std::vector<std::vector<Buffer>>& results);
  // Copies everything to the host, from device 0.
  HostState download() const;

 private:
  ModelState(int devices, std::vector<std::string> names)
      : names_(std::move(names)), buffers_(devices) {}
  void put(const Client& client, std::span<const std::byte> bytes, const Shape& shape);

  std::vector<std::string> names_;
  std::vector<std::vector<Buffer>> buffers_;  // [device][tensor]
};

}  // namespace smelt
