#include "data/input_pipeline/record_features.h"

#include <algorithm>

#include "base/error.h"

namespace smelt {
namespace {

std::vector<ExampleFeature> sorted(std::vector<ExampleFeature> features) {
  std::ranges::sort(features, {}, &ExampleFeature::name);
  return features;
}

std::vector<std::string> names_of(const std::vector<ExampleFeature>& features) {
  std::vector<std::string> names;
  for (const ExampleFeature& feature : features) names.push_back(feature.name);
  return names;
}

}  // namespace

std::vector<ExampleFeature> first_features(const RecordIndex& index) {
  return Example(index.read(0), index.place(0)).features();
}

const ExampleFeature* find_feature(const std::vector<ExampleFeature>& features,
                                   std::string_view name, ExampleKind kind) {
  const auto found = std::ranges::find_if(features, [&](const ExampleFeature& feature) {
    return feature.name == name && feature.kind == kind;
  });
  return found == features.end() ? nullptr : &*found;
}

std::string_view kind_name(ExampleKind kind) {
  constexpr std::string_view kNames[]{"values", "byte strings", "reals", "integers"};
  return kNames[static_cast<std::size_t>(kind)];
}

void check_features(const Example& example, const std::vector<ExampleFeature>& features,
                    const std::string& place) {
  constexpr std::string_view kHint = "are the files made by one program with the same options?";
  const auto unsorted = example.features();
  if (unsorted == features) return;
  const auto found = sorted(unsorted), wanted = sorted(features);
  if (names_of(found) != names_of(wanted))
    throw UsageError(str(place, ": has ", join(names_of(found), ", "), ", not ",
                         join(names_of(wanted), ", "), " as the first record"),
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

}  // namespace smelt
