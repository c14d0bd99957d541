#include "model/optim/schedule_config.h"

#include <map>

namespace smelt::model {
namespace {

struct NamedSchedule {
  Decay decay;
  Warmup warmup;
};

const std::map<std::string, NamedSchedule>& schedules() {
  static const std::map<std::string, NamedSchedule> kSchedules{
      {"bert", {Decay::polynomial, Warmup::replaces}},
      {"electra", {Decay::polynomial, Warmup::multiplies}},
      {"jestimator", {Decay::after_warmup, Warmup::multiplies}},
      {"linear", {Decay::polynomial, Warmup::precedes}},
      {"polynomial", {Decay::polynomial, Warmup::precedes}},
      {"constant", {Decay::constant, Warmup::multiplies}},
      {"cosine", {Decay::cosine, Warmup::precedes}},
      {"inverse_sqrt", {Decay::inverse_sqrt, Warmup::none}},
      {"wsd", {Decay::last_steps, Warmup::multiplies}}};
  return kSchedules;
}

const std::map<std::string, Warmup>& warmup_forms() {
  static const std::map<std::string, Warmup> kForms{{"replaces", Warmup::replaces},
                                                    {"multiplies", Warmup::multiplies},
                                                    {"precedes", Warmup::precedes},
                                                    {"none", Warmup::none}};
  return kForms;
}

template <class Value>
std::vector<std::string> keys_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> out;
  for (const auto& [name, value] : map) out.push_back(name);
  return out;
}

}  // namespace

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> kNames = keys_of(schedules());
  return kNames;
}

const std::vector<std::string>& warmup_form_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> out = keys_of(warmup_forms());
    out.insert(out.begin(), "auto");
    return out;
  }();
  return kNames;
}

const std::vector<std::string>& decay_type_names() {
  static const std::vector<std::string> kNames{"linear", "sqrt"};
  return kNames;
}

Schedule make_schedule(const ScheduleConfig& config, double learning_rate, std::int64_t steps) {
  const NamedSchedule& chosen = schedules().at(config.type);
  Schedule out{.learning_rate = learning_rate,
               .warmup_steps = config.warmup_steps,
               .total_steps = steps,
               .power = config.power,
               .warmup = chosen.warmup,
               .decay = chosen.decay,
               .decay_to_step = config.decay_to_step,
               .decay_steps = config.decay_steps,
               .end = config.min_lr_rate,
               .name = config.type};
  if (config.warmup_form != "auto") out.warmup = warmup_forms().at(config.warmup_form);
  if (config.decay_type == "sqrt") out.decay = Decay::last_sqrt;
  return out;
}

}  // namespace smelt::model
