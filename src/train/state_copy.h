// A state of training on the host, and its way there.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/safetensors.h"
#include "runtime/buffer.h"
#include "train/state_layout.h"

namespace smelt {

// Named tensors on the host, with the memory behind the views.
struct HostState {
  using Memory = std::unique_ptr<std::byte[]>;  // not filled before the values come

  TensorMap tensors;
  std::vector<Memory> memory;
};

// The first tensor, by name, that holds a NaN or an infinity.
std::optional<std::string> first_not_finite(const HostState& state);

// A copy on its way to the host while the devices go on: a program that is given the buffers
// afterwards, also one that they are donated to, waits there until they have been read. One thread
// at a time may use it.
class StateCopy {
 public:
  using Buffers = std::vector<std::vector<Buffer>>;  // [device][tensor]
  StateCopy(std::shared_ptr<const StateLayout> layout, const Mesh& mesh, const Buffers& buffers);

  // Waits until all of it is there. PjrtError when the values could not be computed.
  const HostState& host();
  HostState take();

 private:
  struct Part {
    Part(const Buffer& buffer, std::size_t tensor, std::int64_t device);
    Part(Part&&) = default;
    ~Part();  // waits: until then the memory is the copy's

    std::size_t tensor;
    std::int64_t device;
    std::size_t size;
    HostState::Memory values;
    Event copied;
  };
  void place(Part part, HostState::Memory& whole) const;
  void add(std::size_t tensor, HostState::Memory whole);

  std::shared_ptr<const StateLayout> layout_;
  Mesh mesh_;
  std::deque<Part> parts_;  // in the order of the tensors
  HostState host_;
};

}  // namespace smelt
