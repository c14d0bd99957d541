// Tensors of safetensors files, read one at a time.
#pragma once

#include <cstring>
#include <string>

#include "checkpoint/storage/slices.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/safetensors.h"

namespace smelt {

// The header is read and checked now, each tensor when it is asked for; the file stays open as long
// as one of them. UsageError as SafetensorsFile has it, and for a file that became shorter.
LazyTensors open_safetensors(const std::string& path);

// Throws UsageError if the file is a Git LFS pointer: a clone without its large files has a few
// lines of text in their place.
void refuse_lfs_pointer(const RandomAccessFile& file);
void refuse_lfs_pointer(const std::string& path);

// Exactly the bytes from `offset` on. UsageError when the file has fewer.
std::vector<std::byte> read_exactly(const RandomAccessFile& file, std::uint64_t offset,
                                    std::size_t size);

// Views of memory that outlives them; what lies in slices is put together when it is read.
LazyTensors lazy_tensors(const TensorMap& tensors);
LazyTensors lazy_tensors(const SlicedTensors& tensors);

// All of them in memory, behind the views; several are read at a time.
struct HeldTensors {
  TensorMap tensors;
  std::vector<std::vector<std::byte>> memory;
};
HeldTensors hold_tensors(const LazyTensors& tensors);

// The same for one who puts them elsewhere: what is stored in fewer bytes than it has stays so.
struct StoredTensors {
  SlicedTensors tensors;
  std::vector<std::vector<std::byte>> memory;
};
StoredTensors hold_as_stored(const LazyTensors& tensors);

// As another floating-point type, rounded to nearest even; the tensor itself where it is of that
// type or of none.
LazyTensor as_dtype(LazyTensor tensor, DType dtype);

// All values of a tensor that holds T's.
template <class T>
std::vector<T> read_values(const LazyTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.read();
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace smelt
