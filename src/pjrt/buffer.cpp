#include "pjrt/buffer.h"

#include <array>
#include <numeric>
#include <utility>

namespace smelt::pjrt {
namespace {

using pjrt_abi::ElementType;

constexpr std::array<std::pair<compiler::DType, ElementType>, 12> kTypes{
    {{compiler::DType::pred, ElementType::pred},
     {compiler::DType::s8, ElementType::s8},
     {compiler::DType::s32, ElementType::s32},
     {compiler::DType::s64, ElementType::s64},
     {compiler::DType::u8, ElementType::u8},
     {compiler::DType::u16, ElementType::u16},
     {compiler::DType::u32, ElementType::u32},
     {compiler::DType::u64, ElementType::u64},
     {compiler::DType::bf16, ElementType::bf16},
     {compiler::DType::f16, ElementType::f16},
     {compiler::DType::f32, ElementType::f32},
     {compiler::DType::f64, ElementType::f64}}};

compiler::DType dtype_of(ElementType type) {
  for (const auto& [dtype, element] : kTypes) {
    if (element == type) return dtype;
  }
  throw SystemError(str("buffer: element type ", static_cast<int>(type), " is not supported"));
}

}  // namespace

pjrt_abi::ElementType element_type(compiler::DType dtype) {
  for (const auto& [known, element] : kTypes) {
    if (known == dtype) return element;
  }
  CHECK(false, "dtype ", static_cast<int>(dtype));
  return {};
}

Buffer::Buffer(std::shared_ptr<const Client> client, pjrt_abi::Buffer* raw)
    : client_(std::move(client)), handle_(client_->plugin(), raw) {}

compiler::Shape Buffer::shape() const {
  pjrt_abi::BufferElementType type{};
  type.buffer = raw();
  pjrt_abi::BufferDimensions dimensions{};
  dimensions.buffer = raw();
  dimensions = handle_.plugin().call(dimensions);
  return {.dtype = dtype_of(handle_.plugin().call(type).type),
          .dims = compiler::Dims(dimensions.dims, dimensions.dims + dimensions.num_dims)};
}

bool Buffer::deleted() const {
  if (!handle_) return true;
  pjrt_abi::BufferIsDeleted args{};
  args.buffer = raw();
  return handle_.plugin().call(args).is_deleted;
}

void Buffer::await() const {
  pjrt_abi::BufferReadyEvent args{};
  args.buffer = raw();
  Event(handle_.shared_plugin(), handle_.plugin().call(args).event).await();
}

Event Buffer::start_copy_to_host(std::span<std::byte> out) const {
  const compiler::Shape shape = this->shape();
  CHECK(out.size() == shape.size_bytes(), out.size(), " bytes for ", shape);
  // Request row-major order explicitly: a TPU may store the dimensions in another order.
  std::vector<std::int64_t> minor_to_major(shape.dims.size());
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  pjrt_abi::MemoryLayout layout{};
  layout.struct_size = pjrt_abi::struct_size<pjrt_abi::MemoryLayout>();
  layout.tiled.struct_size = pjrt_abi::struct_size<pjrt_abi::TiledLayout>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  pjrt_abi::BufferToHostBuffer args{};
  args.src = raw();
  args.host_layout = &layout;
  std::byte nothing{};  // a null destination would only query the size
  args.dst = out.empty() ? &nothing : out.data();
  args.dst_size = out.size();
  return Event(handle_.shared_plugin(), handle_.plugin().call(args).event);
}

void Buffer::copy_to_host(std::span<std::byte> out) const { start_copy_to_host(out).await(); }

}  // namespace smelt::pjrt
