// Text to text as a task: what T5 pre-trains on and is fine-tuned by (Raffel et al. 2020).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/choice.h"
#include "model/models/t5.h"
#include "model/tasks/distill.h"
#include "model/tasks/task.h"

namespace smelt {

// What the sum of a batch's losses is taken over.
enum class LossOver {
  tokens,    // of targets, without padding: t5's
  examples,  // that have targets: ttt's, as Keras' compute_average_loss over the batch
};
inline constexpr NamedValues<LossOver, 2> kLossOver{
    {{"tokens", LossOver::tokens}, {"examples", LossOver::examples}}};
constexpr const NamedValues<LossOver, 2>& words_of(LossOver) { return kLossOver; }

struct T5Settings {
  double z_loss = 1e-4;
  LossOver loss_over = LossOver::tokens;
};

template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, T5Settings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("z_loss", c.z_loss, "of log(Z)^2, which keeps the sum Z of all words' exp(score) near 1");
  visit("loss_over", c.loss_over,
        "a batch's loss is over its target tokens (t5), or a sum over its examples (ttt)");
}

struct IdRange {
  std::int64_t begin = 0, end = 0;  // end: the id behind the last
};

struct T5Task {
  T5Config model = {};
  T5Settings settings = {};
  std::int64_t inputs_length = 512, targets_length = 114;
  // Ids that are words: in evaluation measures of those alone are given, without sentinels and ends
  // of sequences. Empty: none are.
  std::vector<IdRange> words = {};
};

// A task of records of `inputs` and `targets`, padded with zeros; the decoder is told the targets
// behind a zero. Loss target_loss, and z_loss where it has a factor. In evaluation also
// target_accuracy, and word_loss and word_accuracy of the targets that are words. UsageError for
// settings that do not fit each other.
Task t5_task(const T5Task& config);

// What a T5 says of target tokens, as a student's teacher.
Teacher t5_teacher(const T5Config& config, FrozenModel model);

}  // namespace smelt
