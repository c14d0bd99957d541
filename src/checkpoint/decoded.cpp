#include "checkpoint/decoded.h"

#include <utility>

namespace smelt {

LazyTensor decoded(Dims dims, const std::function<PutBytes(Laid laid)>& stored) {
  LazyTensor out{{DType::f32, std::move(dims)}, {}};
  const auto read = [stored, size = out.shape.size_bytes()](Laid laid) {
    std::vector<std::byte> values(size);
    stored(laid)(values);
    return values;
  };
  out.read = [read] { return read(Laid::as_is); };
  out.read_stored = [stored] { return stored(Laid::as_is); };
  if (out.shape.rank() != 2) return out;
  out.read_transposed = [read] { return read(Laid::transposed); };
  out.read_stored_transposed = [stored] { return stored(Laid::transposed); };
  return out;
}

}  // namespace smelt
