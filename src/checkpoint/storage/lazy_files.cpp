#include "checkpoint/storage/lazy_files.h"

#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "compiler/ir/float16.h"
#include "io/filesystem/file.h"
#include "io/filesystem/lfs_pointer.h"

namespace smelt::checkpoint {
namespace {

double number_at(compiler::DType dtype, const std::byte* at) {
  const auto load = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case compiler::DType::f64:
      return load(double{});
    case compiler::DType::f32:
      return load(float{});
    case compiler::DType::bf16:
      return compiler::bf16_to_float(load(std::uint16_t{}));
    default:
      CHECK(dtype == compiler::DType::f16, dtype);
      return compiler::f16_to_float(load(std::uint16_t{}));
  }
}

void put_number(compiler::DType dtype, double value, std::byte* at) {
  const auto store = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (dtype) {
    case compiler::DType::f64:
      return store(value);
    case compiler::DType::f32:
      return store(static_cast<float>(value));
    case compiler::DType::bf16:
      return store(compiler::bf16_from_double(value));
    default:
      CHECK(dtype == compiler::DType::f16, dtype);
      return store(compiler::f16_from_double(value));
  }
}

}  // namespace

std::vector<std::byte> read_exactly(const io::RandomAccessFile& file, std::uint64_t offset,
                                    std::size_t size) {
  std::vector<std::byte> bytes(size);
  const std::span<char> out(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (const std::size_t got = file.read_at(offset, out); got != size)
    throw UsageError(str(file.path(), ": ends at byte ", offset + got, ", but ", size,
                         " bytes at offset ", offset, " are expected"),
                     "copy the file again");
  return bytes;
}

void refuse_lfs_pointer(const io::RandomAccessFile& file) {
  std::array<char, 64> begin{};
  const std::size_t got = file.read_at(0, begin);
  io::refuse_lfs_pointer(std::string_view(begin.data(), got), file.path());
}

void refuse_lfs_pointer(const std::string& path) { refuse_lfs_pointer(io::RandomAccessFile(path)); }

io::LazyTensors open_safetensors(const std::string& path) {
  const auto file = std::make_shared<const io::RandomAccessFile>(path);
  refuse_lfs_pointer(*file);
  const auto beginning = [&](std::uint64_t size) {
    const auto bytes = read_exactly(*file, 0, std::min<std::uint64_t>(size, file->size()));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::uint64_t length =
      io::safetensors_header_size(beginning(io::kSafetensorsLengthBytes), path);
  const io::SafetensorsHeader header = io::parse_safetensors_header(
      beginning(io::kSafetensorsLengthBytes + length), file->size(), path);
  io::LazyTensors out;
  for (const auto& [name, place] : header.tensors)
    out.emplace(name, io::LazyTensor{place.shape, [file, place] {
                                       return read_exactly(*file, place.offset,
                                                           place.shape.size_bytes());
                                     }});
  return out;
}

io::LazyTensors lazy_tensors(const io::TensorMap& tensors) {
  io::LazyTensors out;
  for (const auto& [name, view] : tensors)
    out.emplace(name, io::LazyTensor{view.shape, [data = view.data] {
                                       return std::vector<std::byte>(data.begin(), data.end());
                                     }});
  return out;
}

io::LazyTensors lazy_tensors(const SlicedTensors& tensors) {
  io::LazyTensors out;
  for (const auto& [name, tensor] : tensors)
    out.emplace(name, io::LazyTensor{tensor.shape, [tensor] {
                                       std::vector<std::byte> bytes(tensor.shape.size_bytes());
                                       copy_part(tensor.slices,
                                                 compiler::Dims(tensor.shape.dims.size()),
                                                 tensor.shape, bytes);
                                       return bytes;
                                     }});
  return out;
}

TensorsInMemory load_into_memory(const io::LazyTensors& tensors) {
  TensorsInMemory out;
  out.memory.resize(tensors.size());
  std::vector<const io::LazyTensor*> each;
  for (const auto& [name, tensor] : tensors) each.push_back(&tensor);
  run_each(each.size(), available_threads(),
           [&](std::size_t i) { out.memory[i] = each[i]->read(); });
  std::size_t i = 0;
  for (const auto& [name, tensor] : tensors)
    out.tensors.emplace(name, io::TensorView{tensor.shape, out.memory[i++]});
  return out;
}

StoredTensors load_undecoded(const io::LazyTensors& tensors) {
  StoredTensors out;
  out.memory.resize(tensors.size());
  std::vector<const io::LazyTensor*> each;
  for (const auto& [name, tensor] : tensors) each.push_back(&tensor);
  std::vector<TensorSlice> slices(each.size());
  run_each(each.size(), available_threads(), [&](std::size_t i) {
    TensorSlice& slice = slices[i];
    slice.begin = compiler::Dims(each[i]->shape.dims.size());
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

io::LazyTensor as_dtype(io::LazyTensor tensor, compiler::DType dtype) {
  const compiler::Shape from = tensor.shape;
  if (from.dtype == dtype || !compiler::is_float(from.dtype)) return tensor;
  CHECK(compiler::is_float(dtype), dtype);
  const compiler::Shape to{dtype, from.dims};
  return {to, [read = std::move(tensor.read), from, to] {
            const std::vector<std::byte> given = read();
            std::vector<std::byte> out(to.size_bytes());
            const std::size_t wide = compiler::dtype_size_bytes(from.dtype),
                              narrow = compiler::dtype_size_bytes(to.dtype);
            for (std::size_t i = 0; i < out.size() / narrow; ++i)
              put_number(to.dtype, number_at(from.dtype, given.data() + i * wide),
                         out.data() + i * narrow);
            return out;
          }};
}

}  // namespace smelt::checkpoint
