// Copies of a training state in host memory.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "model/train_step/state_layout.h"
#include "pjrt/buffer.h"

namespace smelt::execution {

// Named tensors on the host, with the memory that they refer to.
struct HostState {
  using Memory = std::unique_ptr<std::byte[]>;  // not initialized before the copy

  // The slices on this process's devices, without duplicates. They are not joined to whole tensors.
  checkpoint::SlicedTensors tensors;
  std::vector<Memory> memory;
};

// Returns the name of the first tensor that contains a NaN or an infinity, or nullopt.
std::optional<std::string> first_not_finite(const HostState& state);

// An asynchronous copy to the host. Devices continue meanwhile: a later program that takes these
// buffers, even one that they are donated to, waits until they have been read. Not thread-safe.
class StateCopy {
 public:
  using Buffers = std::vector<std::vector<pjrt::Buffer>>;  // [own device][tensor]
  StateCopy(std::shared_ptr<const model::StateLayout> layout, const compiler::Mesh& mesh,
            std::span<const pjrt::OwnDevice> devices, const Buffers& buffers);

  // Waits for the copy. Throws PjrtError if the values could not be computed.
  const HostState& host();
  HostState take();

 private:
  struct Part {
    Part(const pjrt::Buffer& buffer, std::size_t tensor, compiler::Dims begin);
    Part(Part&&) = default;
    ~Part();  // waits for the copy, which writes to `values`

    std::size_t tensor;
    compiler::Dims begin;  // index of the first element in the tensor
    compiler::Shape shape;
    HostState::Memory values;
    pjrt::Event copied;
  };
  void add(Part& part);

  std::shared_ptr<const model::StateLayout> layout_;
  std::deque<Part> parts_;
  HostState host_;
};

}  // namespace smelt::execution
