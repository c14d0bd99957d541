#include "data/input_pipeline/record_features.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::data {
namespace {

std::vector<io::ExampleFeature> sorted(std::vector<io::ExampleFeature> features) {
  std::ranges::sort(features, {}, &io::ExampleFeature::name);
  return features;
}

std::vector<std::string> names_of(const std::vector<io::ExampleFeature>& features) {
  std::vector<std::string> names;
  for (const io::ExampleFeature& feature : features) names.push_back(feature.name);
  return names;
}

}  // namespace

std::vector<io::ExampleFeature> first_features(const RecordIndex& index) {
  return io::Example(index.read(0), index.place(0)).features();
}

const io::ExampleFeature* find_feature(const std::vector<io::ExampleFeature>& features,
                                       std::string_view name, io::ExampleKind kind) {
  const auto found = std::ranges::find_if(features, [&](const io::ExampleFeature& feature) {
    return feature.name == name && feature.kind == kind;
  });
  return found == features.end() ? nullptr : &*found;
}

std::string_view kind_name(io::ExampleKind kind) {
  constexpr std::string_view kNames[]{"values", "byte strings", "reals", "integers"};
  return kNames[static_cast<std::size_t>(kind)];
}

void check_features(const io::Example& example, const std::vector<io::ExampleFeature>& features,
                    const std::string& place) {
  constexpr std::string_view kHint =
      "give files that were made by one program with the same options";
  const auto unsorted = example.features();
  if (unsorted == features) return;
  const auto found = sorted(unsorted), wanted = sorted(features);
  if (names_of(found) != names_of(wanted))
    throw UsageError(str(place, ": has ", join(names_of(found), ", "),
                         ", but the first record has ", join(names_of(wanted), ", ")),
                     kHint);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string_view name = wanted[i].name;
    if (found[i].count != wanted[i].count)
      throw UsageError(
          str(place, ": ", name, " has ", found[i].count, " values, not ", wanted[i].count), kHint);
    if (found[i].kind != wanted[i].kind)
      throw UsageError(str(place, ": ", name, " is a list of ", kind_name(found[i].kind), ", not ",
                           kind_name(wanted[i].kind)),
                       kHint);
  }
}

}  // namespace smelt::data
