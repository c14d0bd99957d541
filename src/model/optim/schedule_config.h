// The settings of the learning rate schedule in a recipe's section train.schedule.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "model/optim/schedule.h"

namespace smelt::model {

struct ScheduleConfig {
  std::string type = "bert";  // one of schedule_names()
  std::int64_t warmup_steps = 100;
  double warmup_ratio = 0;
  std::string warmup_form = "auto";
  double power = 1.0, min_lr_rate = 0.0;
  std::int64_t decay_to_step = 0, decay_steps = 0;
  double decay_ratio = 0;
  std::string decay_type = "linear";
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, ScheduleConfig>
void visit_fields(C& c, Visitor&& visit) {
  visit("type", c.type,
        "bert: linear decay after the warm-up; electra: the warm-up is a factor of it, too; "
        "jestimator: no decay, or one from the warm-up's end to decay_to_step; linear: decay from "
        "the warm-up's end; polynomial, constant, cosine; inverse_sqrt: T5's; wsd: warm-up, "
        "stable, decay over the last decay_steps");
  visit("warmup_steps", c.warmup_steps, "steps of linear warm-up");
  visit("warmup_ratio", c.warmup_ratio,
        "share of all steps; above 0 it sets train.schedule.warmup_steps");
  visit("warmup_form", c.warmup_form,
        "of polynomial, cosine and inverse_sqrt: precedes the decay; multiplies it, as ELECTRA's; "
        "replaces it, as BERT's; none; auto: precedes, but none with inverse_sqrt");
  visit("power", c.power, "of polynomial: (1 - share done)^power");
  visit("min_lr_rate", c.min_lr_rate,
        "of polynomial, cosine and wsd: share of the learning rate that is left at the end");
  visit("decay_to_step", c.decay_to_step,
        "step at which the rate of type jestimator is 0; 0 = no decay");
  visit("decay_steps", c.decay_steps, "last steps, over which type wsd decays");
  visit("decay_ratio", c.decay_ratio,
        "share of all steps; above 0 it sets train.schedule.decay_steps");
  visit("decay_type", c.decay_type, "of wsd: linear, or sqrt: 1 - sqrt(share done)");
}

const std::vector<std::string>& schedule_names();
const std::vector<std::string>& warmup_form_names();  // "auto" among them
const std::vector<std::string>& decay_type_names();

// Returns the schedule of a run of `steps` steps. The words of the config must be known.
Schedule make_schedule(const ScheduleConfig& config, double learning_rate, std::int64_t steps);

}  // namespace smelt::model
