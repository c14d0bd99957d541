#include "train/parameter_scales.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>

#include "base/error.h"

namespace smelt {
namespace {

double root_mean_square(std::span<const std::byte> bytes) {
  const std::span values(reinterpret_cast<const float*>(bytes.data()),
                         bytes.size() / sizeof(float));
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

std::vector<ParameterScale> parameter_scales(const StateLayout& layout, const HostState& state) {
  std::vector<ParameterScale> out;
  for (const StateTensor& tensor : std::span(layout.tensors).first(layout.values))
    for (const std::string& name : tensor.names()) {
      const TensorView& view = state.tensors.at(name);
      CHECK(view.shape.dtype == DType::f32, name);
      out.push_back({name, view.shape.dims, root_mean_square(view.data)});
    }
  return out;
}

std::string tuple_text(const Dims& dims) {
  return str("(", join(dims, ", "), dims.size() == 1 ? ",)" : ")");
}

std::string table_of(const std::vector<ParameterScale>& parameters) {
  std::size_t name = 0, shape = 0;
  for (const ParameterScale& p : parameters) {
    name = std::max(name, p.name.size());
    shape = std::max(shape, tuple_text(p.dims).size());
  }
  std::ostringstream out;
  out << "parameters: name, shape, root mean square" << std::left << std::setprecision(4);
  for (const ParameterScale& p : parameters)
    out << "\n  " << std::setw(static_cast<int>(name) + 2) << p.name
        << std::setw(static_cast<int>(shape) + 2) << tuple_text(p.dims) << p.rms;
  return out.str();
}

}  // namespace smelt
