// Text-to-text training of T5: pretraining and fine-tuning (Raffel et al. 2020).
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

namespace smelt::model {

// The count that normalizes the loss of a batch.
enum class LossOver {
  tokens,    // target tokens without padding, as in t5
  examples,  // examples with targets, as in the program ttt (Keras' compute_average_loss)
};
inline constexpr NamedValues<LossOver, 2> kLossOver{
    {{"tokens", LossOver::tokens}, {"examples", LossOver::examples}}};
constexpr const NamedValues<LossOver, 2>& words_of(LossOver) { return kLossOver; }

// Settings of the loss.
struct T5Settings {
  double z_loss = 1e-4;
  LossOver loss_over = LossOver::tokens;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, T5Settings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("z_loss", c.z_loss,
        "factor of log(Z)^2, which keeps Z, the sum of exp(score) over all words, near 1");
  visit("loss_over", c.loss_over,
        "average the loss over target tokens (t5) or over examples (ttt)");
}

// A range of token ids.
struct IdRange {
  std::int64_t begin = 0, end = 0;  // end is exclusive
};

// Settings of T5 training.
struct T5Task {
  T5Config model = {};
  T5Settings settings = {};
  std::int64_t inputs_length = 512, targets_length = 114;
  // Ids that are words, without sentinels and the end token. Evaluation reports extra metrics over
  // them; empty: none.
  std::vector<IdRange> words = {};
};

// Returns the task. Examples have the features `inputs` and `targets`, padded with zeros; the
// decoder reads the targets shifted right. Losses: target_loss and, if its factor is not 0, z_loss.
// Evaluation adds target_accuracy, and word_loss and word_accuracy over targets that are words.
// Throws UsageError for contradicting settings.
Task t5_task(const T5Task& config);

// Returns a distillation teacher that runs a T5 with the weights of `model`. Students learn its
// scores of the target tokens.
Teacher t5_teacher(const T5Config& config, FrozenModel model);

}  // namespace smelt::model
