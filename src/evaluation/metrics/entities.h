// Entities in sequences of BIO, IOBES or BIOES labels, found and scored as seqeval 1.2.2 does in
// its default mode (by conlleval's rules: a wrong start such as O I-PER begins an entity).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/metrics/classification.h"

namespace smelt {

// Whether a BIO label is of a word in an entity: "B-PER" or "I-PER".
bool is_entity_label(std::string_view label);

struct Entity {
  std::string type;
  std::size_t first = 0, last = 0;  // tokens, both included
  auto operator<=>(const Entity&) const = default;
};
std::vector<Entity> entities_of(std::span<const std::string> labels);

// The labels, of which one that goes on with an entity that none has begun begins it: "I-PER" after
// "O" or "B-LOC" becomes "B-PER", if that is among `known`. Entities are the same.
std::vector<std::string> begun_entities(std::vector<std::string> labels,
                                        std::span<const std::string> known);

// Adds up over sequences.
struct EntityCounts {
  std::int64_t right = 0, predicted = 0, wanted = 0;
  EntityCounts& operator+=(const EntityCounts& other);
  PrecisionRecall score() const { return precision_recall(right, predicted, wanted); }
};
EntityCounts entity_counts(std::span<const std::string> predicted,
                           std::span<const std::string> wanted);

struct EntityScores {
  PrecisionRecall micro, macro, weighted;
  std::map<std::string, PrecisionRecall> by_type;
};
using LabelSequences = std::vector<std::vector<std::string>>;
// UsageError when the two differ in how many sequences there are or how long one is.
EntityScores entity_scores(const LabelSequences& predicted, const LabelSequences& wanted);

}  // namespace smelt
