#include "evaluation/metrics/entities.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace smelt::evaluation {
namespace {

struct Label {
  char tag = 'O';
  std::string type;
  bool inside() const { return tag != 'O' && tag != '.'; }
};

Label label_of(const std::string& text) {
  if (text.empty())
    throw UsageError("entities: a label is empty",
                     "use the label O for tokens outside of entities");
  const std::string rest = text.substr(1);
  const std::size_t dash = rest.find('-');
  std::string type = dash == std::string::npos ? rest : rest.substr(dash + 1);
  return {text[0], type.empty() ? "_" : type};
}

bool one_of(char tag, std::string_view tags) { return tags.find(tag) != std::string_view::npos; }

bool ends(const Label& before, const Label& now) {
  if (one_of(before.tag, "ES")) return true;
  if (one_of(before.tag, "BI") && one_of(now.tag, "BSO")) return true;
  return before.inside() && before.type != now.type;
}

bool starts(const Label& before, const Label& now) {
  if (one_of(now.tag, "BS")) return true;
  if (one_of(before.tag, "ESO") && one_of(now.tag, "EI")) return true;
  return now.inside() && before.type != now.type;
}

struct Counts {
  std::int64_t right = 0, predicted = 0, wanted = 0;
};

}  // namespace

bool is_entity_label(std::string_view label) {
  return label.starts_with("B-") || label.starts_with("I-");
}

std::vector<Entity> entities_of(std::span<const std::string> labels) {
  std::vector<Entity> out;
  Label before;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= labels.size(); ++i) {
    const Label now = i < labels.size() ? label_of(labels[i]) : Label{.tag = 'O', .type = "_"};
    if (ends(before, now)) out.push_back({before.type, first, i - 1});
    if (starts(before, now)) first = i;
    before = now;
  }
  return out;
}

EntityCounts& EntityCounts::operator+=(const EntityCounts& other) {
  right += other.right;
  predicted += other.predicted;
  wanted += other.wanted;
  return *this;
}

EntityCounts entity_counts(std::span<const std::string> predicted,
                           std::span<const std::string> wanted) {
  const std::vector<Entity> found = entities_of(predicted), there = entities_of(wanted);
  const auto both = std::ranges::count_if(
      found, [&](const Entity& e) { return std::ranges::find(there, e) != there.end(); });
  return {.right = both, .predicted = std::ssize(found), .wanted = std::ssize(there)};
}

std::vector<std::string> with_entity_begins(std::vector<std::string> labels,
                                            std::span<const std::string> known) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].starts_with("I-")) continue;
    const std::string type = labels[i].substr(2), begins = "B-" + type;
    if (i > 0 && (labels[i - 1] == labels[i] || labels[i - 1] == begins)) continue;
    if (std::ranges::find(known, begins) != known.end()) labels[i] = begins;
  }
  return labels;
}

EntityScores entity_scores(const LabelSequences& predicted, const LabelSequences& wanted) {
  if (predicted.size() != wanted.size())
    throw UsageError(str("entities: ", predicted.size(), " predicted sequences for ", wanted.size(),
                         " references"),
                     "give one prediction for each reference, in their order");
  std::map<std::string, Counts> types;
  Counts all;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (predicted[i].size() != wanted[i].size())
      throw UsageError(str("entities: sequence ", i, " has ", predicted[i].size(),
                           " predicted labels for ", wanted[i].size(), " tokens"),
                       "predict one label for each token");
    std::vector<Entity> p = entities_of(predicted[i]), w = entities_of(wanted[i]), both;
    for (const Entity& e : p) ++types[e.type].predicted, ++all.predicted;
    for (const Entity& e : w) ++types[e.type].wanted, ++all.wanted;
    std::ranges::sort(p);
    std::ranges::sort(w);
    std::ranges::set_intersection(p, w, std::back_inserter(both));
    for (const Entity& e : both) ++types[e.type].right, ++all.right;
  }
  EntityScores out;
  out.micro = precision_recall(all.right, all.predicted, all.wanted);
  std::vector<PrecisionRecall> rows;
  for (const auto& [type, c] : types)
    rows.push_back(out.by_type[type] = precision_recall(c.right, c.predicted, c.wanted));
  out.macro = macro_average(rows);
  out.weighted = weighted_average(rows);
  return out;
}

}  // namespace smelt::evaluation
