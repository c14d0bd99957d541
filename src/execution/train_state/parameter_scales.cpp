#include "execution/train_state/parameter_scales.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/error.h"

namespace smelt::execution {

std::vector<ParameterScale> parameter_scales(const model::StateLayout& layout,
                                             const HostState& state) {
  std::vector<ParameterScale> out;
  checkpoint::Scratch scratch;
  for (const model::StateTensor& tensor : std::span(layout.tensors).first(layout.values))
    for (const std::string& name : tensor.stored_names()) {
      const io::TensorView view = checkpoint::whole(state.tensors.at(name), scratch);
      CHECK(view.shape.dtype == compiler::DType::f32, name);
      const std::span values(reinterpret_cast<const float*>(view.data.data()),
                             view.data.size() / sizeof(float));
      out.push_back({name, view.shape.dims, root_mean_square(values)});
    }
  return out;
}

std::string tuple_text(const compiler::Dims& dims) {
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

}  // namespace smelt::execution
