#include "io/formats/example.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::io {
namespace {

enum Kind : std::uint32_t { kBytes = 1, kReals = 2, kIntegers = 3 };  // field numbers of Feature

}  // namespace

void ExampleWriter::add(std::string_view name, std::uint32_t kind) {
  feature_.clear();
  feature_.message(kind, list_);
  entry_.clear();
  entry_.bytes(1, name);
  entry_.message(2, feature_);
  features_.message(1, entry_);
}

void ExampleWriter::integers(std::string_view name, std::span<const std::int32_t> values) {
  packed_.clear();
  packed_.raw_varints(values);
  list_.clear();
  if (!values.empty()) list_.message(1, packed_);
  add(name, kIntegers);
}

void ExampleWriter::reals(std::string_view name, std::span<const float> values) {
  packed_.clear();
  for (const float value : values) packed_.raw_fixed32(std::bit_cast<std::uint32_t>(value));
  list_.clear();
  if (!values.empty()) list_.message(1, packed_);
  add(name, kReals);
}

void ExampleWriter::bytes(std::string_view name, std::span<const std::string> values) {
  list_.clear();
  for (const std::string& value : values) list_.bytes(1, value);
  add(name, kBytes);
}

std::string ExampleWriter::take() {
  WireWriter example;
  example.message(1, features_);
  features_.clear();
  return example.take();
}

Example::Example(std::string_view message, std::string where) : where_(std::move(where)) {
  WireReader reader(message, where_);
  while (const auto field = reader.next())
    if (field->number == 1 && field->type == WireType::bytes) parse_features(field->bytes);
}

void Example::parse_features(std::string_view message) {
  WireReader reader(message, where_);
  while (const auto field = reader.next())
    if (field->number == 1 && field->type == WireType::bytes) parse_entry(field->bytes);
}

void Example::parse_entry(std::string_view message) {
  Feature feature;
  WireReader reader(message, where_);
  while (const auto field = reader.next()) {
    if (field->type != WireType::bytes) continue;
    if (field->number == 1) feature.name = field->bytes;
    if (field->number == 2) parse_feature(field->bytes, feature);
  }
  std::erase_if(features_, [&](const Feature& earlier) { return earlier.name == feature.name; });
  features_.push_back(std::move(feature));
}

void Example::parse_feature(std::string_view message, Feature& feature) const {
  WireReader reader(message, where_);
  while (const auto field = reader.next())
    if (field->type == WireType::bytes && field->number >= kBytes && field->number <= kIntegers)
      parse_list(*field, feature);
}

void Example::parse_list(const WireField& list, Feature& feature) const {
  if (feature.kind != list.number)  // a oneof holds the kind that came last
    feature = Feature{
        .name = feature.name, .kind = list.number, .bytes = {}, .reals = {}, .integers = {}};
  WireReader reader(list.bytes, where_);
  while (const auto value = reader.next()) {
    if (value->number != 1) continue;
    if (feature.kind == kIntegers) append_integers(*value, where_, feature.integers);
    if (feature.kind == kReals) append_floats(*value, where_, feature.reals);
    if (feature.kind == kBytes && value->type == WireType::bytes)
      feature.bytes.emplace_back(value->bytes);
  }
}

const Example::Feature& Example::find(std::string_view name, std::uint32_t kind,
                                      std::string_view what) const {
  constexpr std::string_view kHint = "give files that were made for this model";
  for (const Feature& feature : features_) {
    if (feature.name != name) continue;
    if (feature.kind != kind)
      throw UsageError(str(where_, ": feature '", name, "' is not a list of ", what), kHint);
    return feature;
  }
  throw UsageError(str(where_, ": no feature '", name, "'; it has: ", join(names(), ", ")), kHint);
}

const std::vector<std::int64_t>& Example::integers(std::string_view name) const {
  return find(name, kIntegers, "integers").integers;
}
const std::vector<float>& Example::reals(std::string_view name) const {
  return find(name, kReals, "reals").reals;
}
const std::vector<std::string>& Example::bytes(std::string_view name) const {
  return find(name, kBytes, "byte strings").bytes;
}

std::vector<std::string> Example::names() const {
  std::vector<std::string> names;
  for (const Feature& feature : features_) names.push_back(feature.name);
  return names;
}

std::vector<ExampleFeature> Example::features() const {
  std::vector<ExampleFeature> out;
  for (const Feature& f : features_)
    out.push_back({.name = f.name,
                   .kind = static_cast<ExampleKind>(f.kind),
                   .count = f.bytes.size() + f.reals.size() + f.integers.size()});
  return out;
}

}  // namespace smelt::io
