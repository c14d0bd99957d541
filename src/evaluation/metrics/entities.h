// Entities in sequences of BIO, IOBES or BIOES labels, and their metrics, following seqeval 1.2.2's
// default mode (and conlleval): a label that cannot continue an entity starts one, so that I-PER in
// "O I-PER" is an entity.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/metrics/classification.h"

namespace smelt::evaluation {

// Returns whether the label marks a word of an entity: "B-…" or "I-…".
bool is_entity_label(std::string_view label);

struct Entity {
  std::string type;
  std::size_t first = 0, last = 0;  // indices of its first and last token
  auto operator<=>(const Entity&) const = default;
};
std::vector<Entity> entities_of(std::span<const std::string> labels);

// Returns the labels with each "I-X" that starts an entity, as after "O" or "B-Y", changed to "B-X"
// if "B-X" is in `known`. The entities stay the same.
std::vector<std::string> with_entity_begins(std::vector<std::string> labels,
                                            std::span<const std::string> known);

// Entity counts; their sum over sequences gives the corpus score.
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
// Returns the scores over all sequences. Throws UsageError if the lists have different numbers of
// sequences, or if a predicted sequence and its reference differ in length.
EntityScores entity_scores(const LabelSequences& predicted, const LabelSequences& wanted);

}  // namespace smelt::evaluation
