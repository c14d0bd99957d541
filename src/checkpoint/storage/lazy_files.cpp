#include "checkpoint/storage/lazy_files.h"

#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "compiler/ir/float16.h"
#include "io/filesystem/file.h"

namespace smelt {
namespace {

double number_at(DType dtype, const std::byte* at) {
  const auto load = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f64:
      return load(double{});
    case DType::f32:
      return load(float{});
    case DType::bf16:
      return bf16_to_float(load(std::uint16_t{}));
    default:
      CHECK(dtype == DType::f16, dtype);
      return f16_to_float(load(std::uint16_t{}));
  }
}

void put_number(DType dtype, double value, std::byte* at) {
  const auto store = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (dtype) {
    case DType::f64:
      return store(value);
    case DType::f32:
      return store(static_cast<float>(value));
    case DType::bf16:
      return store(bf16_from_double(value));
    default:
      CHECK(dtype == DType::f16, dtype);
      return store(f16_from_double(value));
  }
}

}  // namespace

std::vector<std::byte> read_exactly(const RandomAccessFile& file, std::uint64_t offset,
                                    std::size_t size) {
  std::vector<std::byte> bytes(size);
  const std::span<char> out(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (const std::size_t got = file.read_at(offset, out); got != size)
    throw UsageError(str(file.path(), ": ends at byte ", offset + got, ", where ", size,
                         " bytes at ", offset, " should be"),
                     "copy the file again");
  return bytes;
}

void refuse_lfs_pointer(const RandomAccessFile& file) {
  constexpr std::string_view kPointer = "version https://git-lfs.github.com/spec/";
  std::array<char, kPointer.size()> begin{};
  const std::size_t got = file.read_at(0, begin);
  if (std::string_view(begin.data(), got) == kPointer)
    throw UsageError(str(file.path(), ": is a Git LFS pointer, not the file itself"),
                     str("download it: git lfs pull, in the repository's folder"));
}

void refuse_lfs_pointer(const std::string& path) { refuse_lfs_pointer(RandomAccessFile(path)); }

LazyTensors open_safetensors(const std::string& path) {
  const auto file = std::make_shared<const RandomAccessFile>(path);
  refuse_lfs_pointer(*file);
  const auto beginning = [&](std::uint64_t size) {
    const auto bytes = read_exactly(*file, 0, std::min<std::uint64_t>(size, file->size()));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::uint64_t length = safetensors_header_size(beginning(kSafetensorsLengthBytes), path);
  const SafetensorsHeader header =
      parse_safetensors_header(beginning(kSafetensorsLengthBytes + length), file->size(), path);
  LazyTensors out;
  for (const auto& [name, place] : header.tensors)
    out.emplace(name, LazyTensor{place.shape, [file, place] {
                                   return read_exactly(*file, place.offset,
                                                       place.shape.size_bytes());
                                 }});
  return out;
}

LazyTensors lazy_tensors(const TensorMap& tensors) {
  LazyTensors out;
  for (const auto& [name, view] : tensors)
    out.emplace(name, LazyTensor{view.shape, [data = view.data] {
                                   return std::vector<std::byte>(data.begin(), data.end());
                                 }});
  return out;
}

LazyTensors lazy_tensors(const SlicedTensors& tensors) {
  LazyTensors out;
  for (const auto& [name, tensor] : tensors)
    out.emplace(name, LazyTensor{tensor.shape, [tensor] {
                                   std::vector<std::byte> bytes(tensor.shape.size_bytes());
                                   copy_part(tensor.slices, Dims(tensor.shape.dims.size()),
                                             tensor.shape, bytes);
                                   return bytes;
                                 }});
  return out;
}

HeldTensors hold_tensors(const LazyTensors& tensors) {
  HeldTensors out;
  out.memory.resize(tensors.size());
  std::vector<const LazyTensor*> each;
  for (const auto& [name, tensor] : tensors) each.push_back(&tensor);
  run_each(each.size(), available_threads(),
           [&](std::size_t i) { out.memory[i] = each[i]->read(); });
  std::size_t i = 0;
  for (const auto& [name, tensor] : tensors)
    out.tensors.emplace(name, TensorView{tensor.shape, out.memory[i++]});
  return out;
}

StoredTensors hold_as_stored(const LazyTensors& tensors) {
  StoredTensors out;
  out.memory.resize(tensors.size());
  std::vector<const LazyTensor*> each;
  for (const auto& [name, tensor] : tensors) each.push_back(&tensor);
  std::vector<TensorSlice> slices(each.size());
  run_each(each.size(), available_threads(), [&](std::size_t i) {
    TensorSlice& slice = slices[i];
    slice.begin = Dims(each[i]->shape.dims.size());
    slice.part.shape = each[i]->shape;
    if (each[i]->read_stored)
      slice.put = each[i]->read_stored();
    else
      slice.part.data = out.memory[i] = each[i]->read();
  });
  std::size_t i = 0;
  for (const auto& [name, tensor] : tensors)
    out.tensors.emplace(name, SlicedTensor{tensor.shape, {std::move(slices[i++])}});
  return out;
}

LazyTensor as_dtype(LazyTensor tensor, DType dtype) {
  const Shape from = tensor.shape;
  if (from.dtype == dtype || !is_float(from.dtype)) return tensor;
  CHECK(is_float(dtype), dtype);
  const Shape to{dtype, from.dims};
  return {to, [read = std::move(tensor.read), from, to] {
            const std::vector<std::byte> given = read();
            std::vector<std::byte> out(to.size_bytes());
            const std::size_t wide = dtype_size_bytes(from.dtype),
                              narrow = dtype_size_bytes(to.dtype);
            for (std::size_t i = 0; i < out.size() / narrow; ++i)
              put_number(to.dtype, number_at(from.dtype, given.data() + i * wide),
                         out.data() + i * narrow);
            return out;
          }};
}

}  // namespace smelt
