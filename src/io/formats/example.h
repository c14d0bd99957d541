// tf.train.Example: named lists of integers, reals or byte strings
// (tensorflow/core/example/*.proto).
//   Example {Features features = 1}   Features {map<string, Feature> feature = 1}
//   Feature {oneof: BytesList bytes_list = 1, FloatList float_list = 2, Int64List int64_list = 3}
//   each list {repeated value = 1}, packed for the numbers
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/formats/wire.h"

namespace smelt::io {

// Writes features in the order of the calls, as protobuf's pure-Python runtime does. (The C
// runtimes write a map in the order of a hash that changes from run to run.)
class ExampleWriter {
 public:
  void integers(std::string_view name, std::span<const std::int32_t> values);
  void reals(std::string_view name, std::span<const float> values);
  void bytes(std::string_view name, std::span<const std::string> values);

  // Returns the message and resets the writer.
  std::string take();

 private:
  void add(std::string_view name, std::uint32_t kind);

  WireWriter features_, entry_, feature_, list_, packed_;  // reused to avoid allocations
};

// The kind of list that a feature contains.
enum class ExampleKind : std::uint8_t { none, bytes, reals, integers };

struct ExampleFeature {
  std::string name;
  ExampleKind kind = ExampleKind::none;
  std::size_t count = 0;  // number of values
  bool operator==(const ExampleFeature&) const = default;
};

class Example {
 public:
  // Parses a message. Follows protobuf's rules: fields may be in any order, lists may be packed or
  // not, repeated fields are merged, and the last of several entries with the same name is used.
  // Throws UsageError, beginning with `where`, for a malformed message.
  Example(std::string_view message, std::string where);

  // Returns a feature's values. Throws UsageError that names the feature if it is missing or of
  // another kind.
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::vector<float>& reals(std::string_view name) const;
  const std::vector<std::string>& bytes(std::string_view name) const;
  std::vector<std::string> names() const;
  // Returns the features in the order of the message.
  std::vector<ExampleFeature> features() const;

 private:
  // One feature. `kind` is the field number of its list, or 0 if it has no list.
  struct Feature {
    std::string name;
    std::uint32_t kind = 0;
    std::vector<std::string> bytes;
    std::vector<float> reals;
    std::vector<std::int64_t> integers;
  };
  void parse_features(std::string_view message);
  void parse_entry(std::string_view message);
  void parse_feature(std::string_view message, Feature& feature) const;
  void parse_list(const WireField& list, Feature& feature) const;
  const Feature& find(std::string_view name, std::uint32_t kind, std::string_view what) const;

  std::string where_;
  std::vector<Feature> features_;
};

}  // namespace smelt::io
