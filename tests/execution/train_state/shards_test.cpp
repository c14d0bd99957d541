// Shards of tensors on a mesh, compared with a slow reference that looks at every element.
#include "execution/train_state/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/str.h"
#include "checkpoint/storage/slices.h"

namespace smelt::execution {
namespace {

using Bytes = std::vector<std::byte>;
using Coordinates = std::map<std::string, std::int64_t>;

const compiler::Mesh kMesh{{"data", 2}, {"fsdp", 3}, {"tensor", 2}};

// Returns the coordinates of all devices; the last axis varies fastest.
std::vector<Coordinates> devices_of(const compiler::Mesh& mesh) {
  std::vector<Coordinates> out(1);
  for (const auto& [axis, size] : mesh) {
    std::vector<Coordinates> longer;
    for (const Coordinates& begin : out)
      for (std::int64_t i = 0; i < size; ++i) {
        longer.push_back(begin);
        longer.back()[axis] = i;
      }
    out = longer;
  }
  return out;
}

// Returns whether index `at` of a dimension of `size` is in the shard of a device. The dimension's
// axes, major first, split it repeatedly.
bool holds(const compiler::Mesh& mesh, const std::vector<std::string>& axes,
           const Coordinates& device, std::int64_t size, std::int64_t at) {
  const std::map<std::string, std::int64_t> sizes(mesh.begin(), mesh.end());
  for (const std::string& axis : axes) {
    size /= sizes.at(axis);
    if (at / size != device.at(axis)) return false;
    at %= size;
  }
  return true;
}

// Returns the indices, in the whole tensor, of the elements that a device holds, in order.
std::vector<std::int64_t> slow_places(const compiler::Sharding& sharding,
                                      const compiler::Dims& dims, const Coordinates& device) {
  std::vector<std::int64_t> out;
  const std::int64_t count = compiler::Shape{compiler::DType::f32, dims}.elements();
  for (std::int64_t place = 0; place < count; ++place) {
    bool here = true;
    std::int64_t rest = place;
    for (auto i = dims.size(); i-- > 0; rest /= dims[i])
      here = here && holds(kMesh, sharding.axes[i], device, dims[i], rest % dims[i]);
    if (here) out.push_back(place);
  }
  return out;
}

// Returns all ways to assign each mesh axis to one dimension or to none; if several axes split one
// dimension, in both orders.
std::vector<compiler::Sharding> shardings(std::size_t rank) {
  std::vector<compiler::Sharding> out;
  std::vector<std::string> axes{"data", "fsdp", "tensor"};
  do {
    std::size_t ways = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) ways *= rank + 1;
    for (std::size_t way = 0; way < ways; ++way) {
      compiler::Sharding s{compiler::DimAxes(rank)};
      std::size_t rest = way;
      for (const std::string& axis : axes) {
        if (rest % (rank + 1) < rank) s.axes[rest % (rank + 1)].push_back(axis);
        rest /= rank + 1;
      }
      if (std::ranges::find(out, s) == out.end()) out.push_back(s);
    }
  } while (std::ranges::next_permutation(axes).found);
  return out;
}

// Returns dimensions with i + 1 elements per shard in dimension i.
compiler::Dims dims_for(const compiler::Sharding& sharding) {
  const std::map<std::string, std::int64_t> sizes(kMesh.begin(), kMesh.end());
  compiler::Dims dims;
  for (const auto& axes : sharding.axes) {
    dims.push_back(std::ssize(dims) + 1);
    for (const std::string& axis : axes) dims.back() *= sizes.at(axis);
  }
  return dims;
}

Bytes numbered(const compiler::Shape& shape) {
  Bytes out(shape.size_bytes());
  const std::size_t size = compiler::dtype_size_bytes(shape.dtype);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>((i / size * 37 + i % size * 101 + (i / size >> 8)) & 0xff);
  return out;
}

void expect_like_the_twin(const compiler::Sharding& sharding, const compiler::Shape& whole) {
  const Bytes bytes = numbered(whole);
  const std::size_t size = compiler::dtype_size_bytes(whole.dtype);
  const auto devices = devices_of(kMesh);
  ASSERT_EQ(devices.size(), 12u);
  const compiler::Dims origin(whole.dims.size());
  const std::vector<checkpoint::TensorSlice> one{{.begin = origin, .part = {whole, bytes}}};
  const compiler::Shape shape = part_shape(kMesh, sharding, whole);
  std::map<compiler::Dims, Bytes> parts;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    Bytes want;
    for (const std::int64_t place : slow_places(sharding, whole.dims, devices[d])) {
      const auto* from = bytes.data() + static_cast<std::size_t>(place) * size;
      want.insert(want.end(), from, from + size);
    }
    ASSERT_EQ(shape.size_bytes(), want.size());
    Bytes part(want.size());
    const compiler::Dims begin = part_begin(kMesh, sharding, whole, static_cast<std::int64_t>(d));
    checkpoint::copy_part(one, begin, shape, part);
    ASSERT_EQ(part, want) << "device " << d;
    ASSERT_EQ(parts.emplace(begin, part).first->second, part) << "device " << d;
  }
  std::vector<checkpoint::TensorSlice> slices;
  for (const auto& [begin, part] : parts) slices.push_back({begin, {shape, part}});
  Bytes back(bytes.size());
  checkpoint::copy_part(slices, origin, whole, back);
  ASSERT_EQ(back, bytes);
}

TEST(Shards, ShardsMatchTheSlowReferenceAndCoverTheTensor) {
  std::size_t cases = 0;
  for (std::size_t rank = 0; rank <= 4; ++rank)
    for (const compiler::Sharding& sharding : shardings(rank)) {
      const compiler::DType dtype =
          std::vector{compiler::DType::f32, compiler::DType::u8, compiler::DType::s64}[cases++ % 3];
      const compiler::Shape whole{dtype, dims_for(sharding)};
      SCOPED_TRACE(
          str(whole, " ", rank == 0 ? "" : compiler::hlo_sharding(kMesh, sharding, whole)));
      expect_like_the_twin(sharding, whole);
      if (HasFatalFailure()) return;
    }
  EXPECT_GT(cases, 300u);
}

TEST(Shards, ReplicatedTensorsAreWholeOnEveryDevice) {
  const compiler::Shape whole{compiler::DType::f32, {6, 4}};
  EXPECT_EQ(part_shape(kMesh, {}, whole), whole);
  EXPECT_EQ(part_begin(kMesh, {}, whole, 11), (compiler::Dims{0, 0}));
  EXPECT_EQ(part_shape(kMesh, {{{"fsdp", "tensor"}, {}}}, whole),
            (compiler::Shape{compiler::DType::f32, {1, 4}}));
  EXPECT_EQ(part_begin(kMesh, {{{"fsdp", "tensor"}, {}}}, whole, 11), (compiler::Dims{5, 0}));
}

}  // namespace
}  // namespace smelt::execution
