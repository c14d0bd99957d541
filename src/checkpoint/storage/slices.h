// Tensors in slices, as the devices of a mesh hold them: boxes that cover a tensor and do not
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

namespace smelt {

struct TensorSlice {
  Dims begin;  // where its first element stands in the whole
  TensorView part;
  PutBytes put = {};  // where the part is not in memory: what puts it there
};

struct SlicedTensor {
  Shape shape;                      // of the whole
  std::vector<TensorSlice> slices;  // of a tensor that is whole one

  bool is_whole() const { return slices.size() == 1; }
};

using SlicedTensors = std::map<std::string, SlicedTensor, std::less<>>;

// Each in one slice.
SlicedTensors slices_of(const TensorMap& tensors);

// "[0:4,8:16]": from each dimension's begin to behind its end.
std::string slice_text(const Dims& begin, const Dims& dims);

// Copies a part of the whole, which begins there, out of the slices, to its place in `to`.
void copy_part(std::span<const TensorSlice> slices, const Dims& begin, const Shape& part,
               std::span<std::byte> to);

// Memory that serves one tensor after another.
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

// The same without a copy where one slice in memory is that part; else in the scratch memory.
std::span<const std::byte> part_of(std::span<const TensorSlice> slices, const Dims& begin,
                                   const Shape& part, Scratch& scratch);
// All of the tensor, in the scratch memory where it lies in several slices, or not in memory.
TensorView whole(const SlicedTensor& tensor, Scratch& scratch);

}  // namespace smelt
