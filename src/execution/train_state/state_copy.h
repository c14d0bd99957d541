// A state of training on the host, and its way there.
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

namespace smelt {

// Named tensors on the host, with the memory behind the views.
struct HostState {
  using Memory = std::unique_ptr<std::byte[]>;  // not filled before the values come

  // In the slices that this process's devices hold, each once: nothing is put together here.
  SlicedTensors tensors;
  std::vector<Memory> memory;
};

// The first tensor, by name, that holds a NaN or an infinity.
std::optional<std::string> first_not_finite(const HostState& state);

// A copy on its way to the host while the devices go on: a program that is given the buffers
// afterwards, also one that they are donated to, waits there until they have been read. One thread
// at a time may use it.
class StateCopy {
 public:
  using Buffers = std::vector<std::vector<Buffer>>;  // [own device][tensor]
  StateCopy(std::shared_ptr<const StateLayout> layout, const Mesh& mesh,
            std::span<const OwnDevice> devices, const Buffers& buffers);

  // Waits until all of it is there. PjrtError when the values could not be computed.
  const HostState& host();
  HostState take();

 private:
  struct Part {
    Part(const Buffer& buffer, std::size_t tensor, Dims begin);
    Part(Part&&) = default;
    ~Part();  // waits: until then the memory is the copy's

    std::size_t tensor;
    Dims begin;  // in the tensor
    Shape shape;
    HostState::Memory values;
    Event copied;
  };
  void add(Part& part);

  std::shared_ptr<const StateLayout> layout_;
  std::deque<Part> parts_;
  HostState host_;
};

}  // namespace smelt
