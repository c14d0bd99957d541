#include "c_api/arrays.h"

#include <utility>

namespace {

// Moves a container into shared ownership and adds it.
template <class Values>
void add_values(smelt_arrays& arrays, std::string name, std::int32_t dtype, Values values,
                std::vector<std::int64_t> shape) {
  const auto owner = std::make_shared<const Values>(std::move(values));
  arrays.add(std::move(name), dtype, std::move(shape), owner->data(), owner);
}

}  // namespace

void smelt_arrays::add(std::string name, std::int32_t dtype, std::vector<std::int64_t> shape,
                       const void* data, std::shared_ptr<const void> owner) {
  Entry& entry = entries_.emplace_back(
      Entry{std::move(name), std::move(shape), std::move(owner), smelt_array{}});
  entry.view = {.name = entry.name.c_str(),
                .data = data,
                .dtype = dtype,
                .rank = static_cast<std::int32_t>(entry.shape.size()),
                .shape = entry.shape.data()};
}

void smelt_arrays::add(std::string name, std::vector<std::int32_t> values) {
  const std::int64_t count = std::ssize(values);
  add(std::move(name), std::move(values), {count});
}

void smelt_arrays::add(std::string name, std::vector<std::int32_t> values,
                       std::vector<std::int64_t> shape) {
  add_values(*this, std::move(name), SMELT_I32, std::move(values), std::move(shape));
}

void smelt_arrays::add(std::string name, std::vector<std::int64_t> values) {
  const std::int64_t count = std::ssize(values);
  add_values(*this, std::move(name), SMELT_I64, std::move(values), {count});
}

void smelt_arrays::add(std::string name, std::string text) {
  const std::int64_t count = std::ssize(text);
  add_values(*this, std::move(name), SMELT_U8, std::move(text), {count});
}

const smelt_array* smelt_arrays::at(std::int64_t index) const {
  if (index < 0 || index >= std::ssize(entries_)) return nullptr;
  return &entries_[static_cast<std::size_t>(index)].view;
}

namespace smelt::c_api {

std::unique_ptr<smelt_arrays> text_arrays(const std::vector<std::string>& texts) {
  std::string all;
  std::vector<std::int64_t> starts{0};
  for (const std::string& text : texts) {
    all += text;
    starts.push_back(std::ssize(all));
  }
  auto out = std::make_unique<smelt_arrays>();
  out->add("text", std::move(all));
  out->add("starts", std::move(starts));
  return out;
}

std::unique_ptr<smelt_arrays> json_arrays(const OrderedJson& json) {
  auto out = std::make_unique<smelt_arrays>();
  out->add("json", json.dump(-1, ' ', false, JsonInvalidUtf8::replace));
  return out;
}

}  // namespace smelt::c_api

const smelt_array* smelt_arrays_at(const smelt_arrays* arrays, int64_t index) {
  return arrays == nullptr ? nullptr : arrays->at(index);
}

void smelt_arrays_free(smelt_arrays* arrays) { delete arrays; }
