#include "pjrt/buffer.h"

#include <array>
#include <numeric>
#include <utility>

namespace smelt {
namespace {

using pjrt::ElementType;

constexpr std::array<std::pair<DType, ElementType>, 12> kTypes{{{DType::pred, ElementType::pred},
                                                                {DType::s8, ElementType::s8},
                                                                {DType::s32, ElementType::s32},
                                                                {DType::s64, ElementType::s64},
                                                                {DType::u8, ElementType::u8},
                                                                {DType::u16, ElementType::u16},
                                                                {DType::u32, ElementType::u32},
                                                                {DType::u64, ElementType::u64},
                                                                {DType::bf16, ElementType::bf16},
                                                                {DType::f16, ElementType::f16},
                                                                {DType::f32, ElementType::f32},
                                                                {DType::f64, ElementType::f64}}};

DType dtype_of(ElementType type) {
  for (const auto& [dtype, element] : kTypes) {
    if (element == type) return dtype;
  }
  throw SystemError(str("buffer: element type ", static_cast<int>(type), " is not supported"));
}

}  // namespace

pjrt::ElementType element_type(DType dtype) {
  for (const auto& [known, element] : kTypes) {
    if (known == dtype) return element;
  }
  CHECK(false, "dtype ", static_cast<int>(dtype));
  return {};
}

Buffer::Buffer(std::shared_ptr<const Client> client, pjrt::Buffer* raw)
    : client_(std::move(client)), handle_(client_->plugin(), raw) {}

Shape Buffer::shape() const {
  pjrt::BufferElementType type{};
  type.buffer = raw();
  pjrt::BufferDimensions dimensions{};
  dimensions.buffer = raw();
  dimensions = handle_.plugin().call(dimensions);
  return {.dtype = dtype_of(handle_.plugin().call(type).type),
          .dims = Dims(dimensions.dims, dimensions.dims + dimensions.num_dims)};
}

bool Buffer::deleted() const {
  if (!handle_) return true;
  pjrt::BufferIsDeleted args{};
  args.buffer = raw();
  return handle_.plugin().call(args).is_deleted;
}

void Buffer::await() const {
  pjrt::BufferReadyEvent args{};
  args.buffer = raw();
  Event(handle_.shared_plugin(), handle_.plugin().call(args).event).await();
}

Event Buffer::start_copy_to_host(std::span<std::byte> out) const {
  const Shape shape = this->shape();
  CHECK(out.size() == shape.size_bytes(), out.size(), " bytes for ", shape);
  // Request row-major order explicitly: a TPU may store the dimensions in another order.
  std::vector<std::int64_t> minor_to_major(shape.dims.size());
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  pjrt::MemoryLayout layout{};
  layout.struct_size = pjrt::struct_size<pjrt::MemoryLayout>();
  layout.tiled.struct_size = pjrt::struct_size<pjrt::TiledLayout>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  pjrt::BufferToHostBuffer args{};
  args.src = raw();
  args.host_layout = &layout;
  std::byte nothing{};  // a null destination would only query the size
  args.dst = out.empty() ? &nothing : out.data();
  args.dst_size = out.size();
  return Event(handle_.shared_plugin(), handle_.plugin().call(args).event);
}

void Buffer::copy_to_host(std::span<std::byte> out) const { start_copy_to_host(out).await(); }

}  // namespace smelt
