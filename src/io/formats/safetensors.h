// The safetensors format: named tensors in one file
// (https://github.com/huggingface/safetensors#format, docs/reference/formats/safetensors.md). Works
// on bytes and does not access files.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "compiler/ir/shape.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::io {

// A non-owning view of a tensor: row-major, little-endian, shape.size_bytes() bytes.
struct TensorView {
  compiler::Shape shape;
  std::span<const std::byte> data;
};

using TensorMap = std::map<std::string, TensorView, std::less<>>;
using Metadata = std::map<std::string, std::string, std::less<>>;

// Returns the elements as T, which must have the size of the tensor's dtype.
template <class T>
std::vector<T> tensor_values(const TensorView& tensor) {
  CHECK(sizeof(T) == compiler::dtype_size_bytes(tensor.shape.dtype), tensor.shape);
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

// Returns the dtype's name: F32, F64, BF16, F16, I8, I32, I64, U8, U16, U32, U64 or BOOL.
std::string_view safetensors_dtype(compiler::DType dtype);

// Passes the file to `write` in pieces, without copying tensor data. Writes the same bytes as the
// official writer does for the same tensors: tensors of wider dtypes come first (so that every
// tensor is aligned), and tensors of the same dtype are sorted by name.
void write_safetensors(const TensorMap& tensors, const Metadata& metadata,
                       const std::function<void(std::string_view)>& write);
// Writes tensors that are each read just before they are written.
void write_safetensors(const LazyTensors& tensors, const Metadata& metadata,
                       const std::function<void(std::string_view)>& write);

// Return the size of the file that write_safetensors() writes, and its content as one string.
std::uint64_t safetensors_size_bytes(const TensorMap& tensors, const Metadata& metadata);
std::string safetensors_bytes(const TensorMap& tensors, const Metadata& metadata = {});

// The parsed header of a file, without the data.
struct SafetensorsHeader {
  struct Place {
    compiler::Shape shape;
    std::uint64_t offset = 0;  // position of the data in the file, in bytes
  };
  std::map<std::string, Place, std::less<>> tensors;
  Metadata metadata;
};
inline constexpr std::uint64_t kSafetensorsLengthBytes = 8;
// Returns the header size from the file's first 8 bytes. Throws UsageError if it exceeds the
// official reader's limit.
std::uint64_t safetensors_header_size(std::string_view head, std::string_view origin);
// Parses the header. `head` is the beginning of the file with the whole header, `file_bytes` the
// size of the whole file.
SafetensorsHeader parse_safetensors_header(std::string_view head, std::uint64_t file_bytes,
                                           std::string_view origin);

// The tensors of a file. Copies share the bytes, and views stay valid as long as one copy exists.
class SafetensorsFile {
 public:
  // `origin` names the file in messages. Throws UsageError if the bytes are truncated or not in
  // this format.
  SafetensorsFile(std::string bytes, std::string origin);
  // Parses bytes that live as long as `owner`.
  SafetensorsFile(std::shared_ptr<const void> owner, std::string_view bytes, std::string origin);

  const TensorMap& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  // Returns a tensor. Throws UsageError with the nearest name if it is missing.
  const TensorView& at(std::string_view name) const;

 private:
  SafetensorsFile(const std::shared_ptr<const std::string>& bytes, std::string origin);

  std::string origin_;
  std::shared_ptr<const void> owner_;
  TensorMap tensors_;
  Metadata metadata_;
};

}  // namespace smelt::io
