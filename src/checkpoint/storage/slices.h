// Tensors that are sharded over the devices of a mesh: slices (boxes) that cover a tensor without
// overlap.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/formats/lazy_tensor.h"
#include "io/formats/safetensors.h"

namespace smelt::checkpoint {

// One box of a tensor.
struct TensorSlice {
  compiler::Dims begin;  // index of its first element in the whole tensor
  io::TensorView part;
  io::PutBytes put = {};  // copies the values, if they are not in memory
};

struct SlicedTensor {
  compiler::Shape shape;            // shape of the whole tensor
  std::vector<TensorSlice> slices;  // exactly one if the tensor is whole

  bool is_complete() const { return slices.size() == 1; }
};

using SlicedTensors = std::map<std::string, SlicedTensor, std::less<>>;

// Returns each tensor as a single slice.
SlicedTensors slices_of(const io::TensorMap& tensors);

// Returns text such as "[0:4,8:16]": begin (inclusive) and end (exclusive) of each dimension.
std::string slice_text(const compiler::Dims& begin, const compiler::Dims& dims);

// Copies the box of shape `part` that starts at `begin` from the slices to `to`.
void copy_part(std::span<const TensorSlice> slices, const compiler::Dims& begin,
               const compiler::Shape& part, std::span<std::byte> to);

// A buffer that is reused for one tensor after another.
class Scratch {
 public:
  std::span<std::byte> of(std::size_t size) {
    if (size > size_) memory_ = std::make_unique_for_overwrite<std::byte[]>(size_ = size);
    return {memory_.get(), size};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

// Returns the box of shape `part` that starts at `begin`. Does not copy if a slice in memory is
// exactly that box; otherwise the result is in `scratch`.
std::span<const std::byte> part_of(std::span<const TensorSlice> slices, const compiler::Dims& begin,
                                   const compiler::Shape& part, Scratch& scratch);
// Returns the whole tensor. It is in `scratch` if it has several slices or is not in memory.
io::TensorView whole(const SlicedTensor& tensor, Scratch& scratch);

}  // namespace smelt::checkpoint
