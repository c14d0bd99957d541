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
  std::string warmup = {}, decay = {};  // with units; the pipeline sets warmup_steps, decay_steps
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
        "bert: warm-up, then linear decay that counts from step 0; electra: linear decay from step "
        "0, multiplied by the warm-up; jestimator: constant, or linear decay from the end of the "
        "warm-up to decay_to_step; linear, polynomial or cosine: decay after the warm-up; "
        "constant; inverse_sqrt: as in T5; wsd: warm-up, constant, decay in the last decay_steps");
  visit("warmup_steps", c.warmup_steps, "steps of linear warm-up");
  visit("warmup_ratio", c.warmup_ratio,
        "warm-up steps as a share of all steps; above 0 it sets train.schedule.warmup_steps");
  visit("warmup", c.warmup,
        "length of the warm-up with its unit, as in train.length, or a share of the run: 2 %; "
        "replaces train.schedule.warmup_steps");
  visit("warmup_form", c.warmup_form,
        "how warm-up and decay combine for polynomial, cosine and inverse_sqrt: precedes: the "
        "decay starts after the warm-up; multiplies: both from step 0, multiplied (ELECTRA); "
        "replaces: the decay counts from step 0 but applies after the warm-up (BERT); none: no "
        "warm-up; auto: precedes, or none with inverse_sqrt");
  visit("power", c.power, "exponent of the polynomial decay: (1 - progress)^power");
  visit("min_lr_rate", c.min_lr_rate,
        "final learning rate as a share of learning_rate, for polynomial, cosine and wsd");
  visit("decay_to_step", c.decay_to_step,
        "step at which the learning rate reaches 0, for type jestimator; 0 = no decay");
  visit("decay_steps", c.decay_steps, "number of decay steps at the end of the run, for type wsd");
  visit("decay_ratio", c.decay_ratio,
        "decay steps as a share of all steps; above 0 it sets train.schedule.decay_steps");
  visit("decay", c.decay,
        "length of the decay with its unit, as in train.length, or a share of the run: 15 %; "
        "replaces train.schedule.decay_steps");
  visit("decay_type", c.decay_type, "decay of type wsd: linear, or sqrt: 1 - sqrt(progress)");
}

const std::vector<std::string>& schedule_names();
const std::vector<std::string>& warmup_form_names();  // "auto" among them
const std::vector<std::string>& decay_type_names();

// Returns the schedule of a run of `steps` steps. The names in the config (type, warmup_form,
// decay_type) must be valid.
Schedule make_schedule(const ScheduleConfig& config, double learning_rate, std::int64_t steps);

}  // namespace smelt::model
