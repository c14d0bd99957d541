// Tensors of safetensors files, read on demand.
#pragma once

#include <cstring>
#include <string>

#include "checkpoint/storage/slices.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/safetensors.h"

namespace smelt::checkpoint {

// Opens a safetensors file. Reads and checks the header now, and each tensor when it is read. The
// file stays open while any of the tensors exists. Throws UsageError if the header is invalid or
// the file is too short.
io::LazyTensors open_safetensors(const std::string& path);

// Throws UsageError if the file is a Git LFS pointer: a few lines of text in place of a large file
// that was not downloaded.
void refuse_lfs_pointer(const io::RandomAccessFile& file);
void refuse_lfs_pointer(const std::string& path);

// Returns `size` bytes from `offset`. Throws UsageError if the file is shorter.
std::vector<std::byte> read_exactly(const io::RandomAccessFile& file, std::uint64_t offset,
                                    std::size_t size);

// Returns lazy tensors over memory that the caller must keep alive. Reading a sliced tensor
// assembles it.
io::LazyTensors lazy_tensors(const io::TensorMap& tensors);
io::LazyTensors lazy_tensors(const SlicedTensors& tensors);

// Tensors in memory: views and the memory behind them.
struct TensorsInMemory {
  io::TensorMap tensors;
  std::vector<std::vector<std::byte>> memory;
};
// Reads all tensors into memory, several in parallel.
TensorsInMemory load_into_memory(const io::LazyTensors& tensors);

// Tensors to be placed on devices. Quantized and sparse tensors stay encoded in `memory`;
// TensorSlice::put decodes them when their values are copied.
struct StoredTensors {
  SlicedTensors tensors;
  std::vector<std::vector<std::byte>> memory;
};
// Reads all tensors into memory without decoding those that are stored compressed.
StoredTensors load_undecoded(const io::LazyTensors& tensors);

// Returns the tensor converted to another floating-point type, rounded to nearest even. Returns it
// unchanged if it has that type or is not floating-point.
io::LazyTensor as_dtype(io::LazyTensor tensor, compiler::DType dtype);

// Reads all values of a tensor whose element type is T.
template <class T>
std::vector<T> read_values(const io::LazyTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.read();
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace smelt::checkpoint
