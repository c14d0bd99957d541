#include "nn/scope.h"

#include "base/error.h"

namespace smelt {

const Parameter* Parameters::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &list_[found->second];
}

Scope Scope::operator/(std::string_view name) const {
  Scope inner = *this;
  inner.path_ = path_.empty() ? std::string(name) : str(path_, "/", name);
  return inner;
}

Tensor Scope::parameter(std::string_view name, Dims dims, Init init) const {
  const std::string full_name = (*this / name).path();
  CHECK(!parameters_->index_.contains(full_name), full_name, " is declared twice");
  const Tensor tensor = graph_->argument({DType::f32, std::move(dims)});
  parameters_->index_[full_name] = parameters_->list_.size();
  parameters_->list_.push_back({full_name, tensor, init});
  return tensor;
}

Tensor Scope::shared(std::string_view full_name) const {
  const Parameter* parameter = parameters_->find(full_name);
  CHECK(parameter != nullptr, full_name, " is not declared");
  return parameter->tensor;
}

}  // namespace smelt
