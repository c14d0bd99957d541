#include "checkpoint/interop/decoded.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"

namespace smelt::checkpoint {

io::LazyTensor decoded(compiler::Dims dims,
                       const std::function<io::PutBytes(io::Laid laid)>& stored) {
  io::LazyTensor out{{compiler::DType::f32, std::move(dims)}, {}};
  const auto read = [stored, size = out.shape.size_bytes()](io::Laid laid) {
    std::vector<std::byte> values(size);
    stored(laid)(values);
    return values;
  };
  out.read = [read] { return read(io::Laid::as_is); };
  out.read_stored = [stored] { return stored(io::Laid::as_is); };
  if (out.shape.rank() != 2) return out;
  out.read_transposed = [read] { return read(io::Laid::transposed); };
  out.read_stored_transposed = [stored] { return stored(io::Laid::transposed); };
  return out;
}

std::vector<float> finite_values(const io::LazyTensor& tensor, const std::string& what) {
  auto out = read_values<float>(as_dtype(tensor, compiler::DType::f32));
  for (const float x : out)
    if (!std::isfinite(x))
      throw UsageError(str(what, " holds ", x, ", expected finite numbers"),
                       "use a model whose weights are finite");
  return out;
}

}  // namespace smelt::checkpoint
