#include "execution/train_state/resume.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/storage/layout.h"
#include "data/input_pipeline/fingerprint.h"
#include "io/filesystem/file.h"
#include "io/formats/json_difference.h"
#include "model/nn/state_names.h"
#include "text/readers/composed_json.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::execution {
namespace {

constexpr const char* kSchedule = "schedule";
// Name of a schedule setting. A resumed run may have more steps in total.
constexpr const char* kTotalSteps = "total_steps";
// Calls visit(name, member) for the numbers of a schedule that a checkpoint records.
template <class Schedule, class Visitor>
void visit_numbers(Schedule& s, const Visitor& visit) {
  visit("learning_rate", s.learning_rate);
  visit("warmup_steps", s.warmup_steps);
  visit("lr_decay_power", s.power);
  visit("decay_to_step", s.decay_to_step);
  visit("decay_steps", s.decay_steps);
  visit("end_factor", s.end);
  visit(kTotalSteps, s.total_steps);
}
constexpr const char* kSpikes = "spikes";
// Settings of answer extraction. A resumed run may change them, because the data's fingerprint
// covers the windows that the model is trained on.
constexpr const char* kAnswers = "answers";
constexpr const char* kLabels = "labels";

std::optional<std::uint32_t> vocabulary_of_data(const data::ExampleSource& source) {
  const auto description = source.description();
  return description ? description->vocabulary_crc32c : std::nullopt;
}

// Returns the recipe field of each setting in a checkpoint.
const std::map<std::string, std::string>& setting_fields() {
  static const std::map<std::string, std::string> kFields{
      {"task", "model.type"},
      {"seq_length", "data.seq_length"},
      {"max_predictions", "data.max_predictions"},
      {"next_sentence", "data.next_sentence"},
      {"inputs_length", "data.inputs_length"},
      {"targets_length", "data.targets_length"},
      {"labels", "data.labels"},
      {"no_answer", "data.no_answer"},
      {"problem", "model.problem"},
      {"dropout", "model.dropout"},
      {"loss_over", "model.loss_over"},
      {"optimizer.algorithm", "optimizer.type"},
      {"optimizer.weight_decay", "optimizer.weight_decay"},
      {"optimizer.clip_norm", "optimizer.clip_norm"},
      {"optimizer.clip_value", "optimizer.clip_value"},
      {"optimizer.beta1", "optimizer.beta1"},
      {"optimizer.momentum", "optimizer.beta1"},
      {"optimizer.beta2", "optimizer.beta2"},
      {"optimizer.beta", "optimizer.beta2"},
      {"optimizer.most_norm", "optimizer.trust_norm"},
      {"optimizer.prune_by", "pruning.method"},
      {"optimizer.prune_penalty", "pruning.penalty"},
      {"optimizer.prune_rate", "pruning.score_learning_rate"},
      {"optimizer.eta", "optimizer.eta_rules"},
      {"optimizer.slot_shape", "optimizer.slot_rules"},
      {"optimizer.rules.rate", "optimizer.rate_rules"},
      {"optimizer.rules.decay", "optimizer.decay_rules"},
      {"reduction", "parallelism.reduction"},
      {"precision", "precision.compute"},
      {"spikes.action", "loss_spike.action"},
      {"spikes.window", "loss_spike.window"},
      {"spikes.sigmas", "loss_spike.sigmas"},
      {"spikes.rewind_skip", "loss_spike.skip_batches"}};
  return kFields;
}

// Returns the recipe field or flag by which the user sets a setting of a checkpoint.
std::string field_of(const std::string& setting, const Fields& fields) {
  constexpr std::string_view kObjective = "objective.";
  if (const auto found = setting_fields().find(setting); found != setting_fields().end())
    return fields(found->second);
  if (setting.starts_with(kObjective)) return fields("model." + setting.substr(kObjective.size()));
  const bool has_no_field = setting.starts_with("data.") || setting.starts_with("optimizer.") ||
                            setting == checkpoint::kVocabularyCrc32c || setting == "special_ids";
  return has_no_field ? setting : fields(setting);
}

void refuse_differences(const std::vector<io::JsonDifference>& found, const std::string& where,
                        const std::string& hint, const Fields& fields) {
  constexpr std::size_t kMostListed = 5;
  if (found.empty()) return;
  std::vector<std::string> listed;
  for (const io::JsonDifference& d : std::span(found).first(std::min(kMostListed, found.size())))
    listed.push_back(
        str(field_of(d.name, fields), " ", d.was.dump(), ", this run has ", d.is.dump()));
  const std::string more =
      found.size() > kMostListed ? str("; ", found.size() - kMostListed, " more differ") : "";
  throw UsageError(str(where, ": was made with ", join(listed, "; with "), more), hint);
}

// Returns the model's settings without those that matter in training only.
Json without_training(const Json& model) {
  Json out = model;
  for (const auto& [name, value] : model.items())
    if (name == "initializer_range" || name.find("dropout") != std::string::npos) out.erase(name);
  return out;
}

// Returns the settings with labels in Unicode NFC.
Json with_composed_labels(Json settings) {
  if (settings.contains(kLabels)) settings[kLabels] = text::composed(std::move(settings[kLabels]));
  return settings;
}

}  // namespace

Json run_settings(const model::Task& task, const model::TrainingConfig& c,
                  const data::ExampleSource& source, const std::string& vocab) {
  Json out = task.settings;
  out["task"] = task.name;
  out["data"] = data::data_fingerprint(source);
  out["seed"] = c.seed;
  out["batch_size"] = c.batch_size;
  if (!vocab.empty())
    out[checkpoint::kVocabularyCrc32c] = text::vocabulary_crc32c(vocab);
  else if (const auto crc = vocabulary_of_data(source))
    out[checkpoint::kVocabularyCrc32c] = *crc;
  visit_numbers(c.schedule,
                [&](const char* name, const auto& value) { out[kSchedule][name] = value; });
  if (!c.schedule.name.empty()) out[kSchedule]["schedule"] = c.schedule.name;
  out["optimizer"] = c.optimizer.settings;
  out["optimizer"]["clip_norm"] = c.clip_norm;
  if (!c.optimizer.settings.contains("clip_value")) out["optimizer"]["clip_value"] = c.clip_value;
  out["optimizer"]["rules"] = c.rules.settings();
  out["ema_decay"] = c.ema_decay;
  if (c.spikes.action != model::SpikeAction::none)
    out[kSpikes] = {{"action", c.spikes.action == model::SpikeAction::skip ? "skip" : "rewind"},
                    {"window", c.spikes.window},
                    {"sigmas", c.spikes.sigmas},
                    {"rewind_skip", c.spikes.skip_batches}};
  out["reduction"] = c.reduction == model::Reduction::global ? "global" : "per_replica";
  // With per_replica the devices' gradients are summed, not averaged, so that the number of devices
  // changes the result.
  if (c.reduction == model::Reduction::per_replica) out["devices"] = c.devices;
  return out;
}

void check_same_run(const Json& saved, const Json& now, const std::string& where,
                    const Fields& fields) {
  if (const bool was = saved.contains("distill"); was != now.contains("distill"))
    throw UsageError(str(where, ": was trained with", was ? "" : "out", " a teacher, this run has ",
                         was ? "none" : "one"),
                     str("set ", fields("distill.teacher"),
                         " as it was, or choose another output folder for a new run"));
  // Earlier versions stored labels without converting them to NFC.
  const Json was = with_composed_labels(saved);
  Json held = with_composed_labels(now);
  for (const char* free : {kSchedule, kSpikes, kAnswers}) held.erase(free);
  refuse_differences(io::differences(was, held), where,
                     "use the same settings, or choose another output folder for a new run",
                     fields);
}

void check_vocabulary(const Json& saved, const std::string& vocab, const std::string& where) {
  if (vocab.empty() || !saved.contains(checkpoint::kVocabularyCrc32c)) return;
  const std::uint32_t found = text::vocabulary_crc32c(vocab);
  if (saved[checkpoint::kVocabularyCrc32c] != found)
    throw UsageError(str(where, ": ", vocab,
                         " is not the vocabulary that the model was made with: ", "its crc32c is ",
                         found, ", not ", saved[checkpoint::kVocabularyCrc32c]),
                     "use the original vocabulary file, or train a new model with this one");
}

void check_data_vocabulary(const Json& saved, const data::ExampleSource& source,
                           const std::string& where) {
  const auto found = vocabulary_of_data(source);
  if (found && saved.contains(checkpoint::kVocabularyCrc32c) &&
      saved[checkpoint::kVocabularyCrc32c] != *found)
    throw UsageError(str(source.files().front(), ": its vocabulary has crc32c ", *found,
                         ", that of ", where, " has ", saved[checkpoint::kVocabularyCrc32c]),
                     "preprocess the data again with the model's vocabulary");
}

// Returns the recipe's name of a schedule's setting in a checkpoint.
static std::string schedule_field(const std::string& name) {
  static const std::map<std::string, std::string> kFields{
      {"learning_rate", "optimizer.learning_rate"},
      {"lr_decay_power", "schedule.power"},
      {"end_factor", "schedule.min_lr_rate"},
      {"schedule", "schedule.type"}};
  const auto found = kFields.find(name);
  return found == kFields.end() ? "schedule." + name : found->second;
}

std::string changed_settings(const Json& saved, const Json& now, const Fields& fields) {
  std::vector<std::string> changes;
  const auto compare = [&](const std::string& name, const Json& was, const Json& is) {
    if (was != is) changes.push_back(str(fields(name), " was ", was, ", is ", is));
  };
  for (const auto& [name, is] : now.at(kSchedule).items())
    if (name != kTotalSteps)
      compare(schedule_field(name), saved.value(kSchedule, now[kSchedule]).value(name, is), is);
  const Json none{{"action", "none"}};
  const Json was = saved.value(kSpikes, none), is = now.value(kSpikes, none);
  compare("loss_spike.action", was["action"], is["action"]);
  if (was.size() == is.size())
    for (const auto& [name, field] : {std::pair{"window", "loss_spike.window"},
                                      {"sigmas", "loss_spike.sigmas"},
                                      {"rewind_skip", "loss_spike.skip_batches"}})
      compare(field, was.value(name, Json()), is.value(name, Json()));
  return join(changes, "; ");
}

namespace {

// Returns `now` with the numbers that a checkpoint's settings record. changed_settings() reports a
// schedule of another name.
model::Schedule saved_schedule(const Json& was, const model::Schedule& now) {
  model::Schedule out = now;
  visit_numbers(out, [&](const char* name, auto& value) { value = was.value(name, value); });
  return out;
}

}  // namespace

std::optional<RateChange> rate_change(const Json& saved, const model::Schedule& now,
                                      std::int64_t step, const Fields& fields) {
  const std::int64_t total = saved_schedule_length(saved);
  if (total == 0 || total == now.total_steps || step == 0) return std::nullopt;
  const std::string length = str(fields("steps"), " was ", total, ", is ", now.total_steps);
  return rate_change_at(saved, now, step, {step - 1, step, length}, fields);
}

std::int64_t saved_schedule_length(const Json& saved) {
  return saved.value(kSchedule, Json::object()).value(kTotalSteps, std::int64_t{0});
}

Json with_saved_parts(const Json& saved, Json now) {
  const Json was = saved.value(kSchedule, Json::object());
  for (const char* part : {"warmup_steps", "decay_steps"})
    if (was.contains(part) && now.at(kSchedule).contains(part)) now[kSchedule][part] = was[part];
  return now;
}

std::optional<RateChange> rate_change_at(const Json& saved, const model::Schedule& now,
                                         std::int64_t step, const SchedulePoint& point,
                                         const Fields& fields) {
  if (saved_schedule_length(saved) == 0) return std::nullopt;
  const model::Schedule before = saved_schedule(saved.at(kSchedule), now);
  const float last = model::learning_rate(before, point.last),
              next = model::learning_rate(now, point.next);
  const std::string text =
      str(point.length, ": the learning rate continues at ", scientific(next, 2), ", it was ",
          scientific(last, 2), " at step ", step);
  if (next <= 2 * last) return RateChange{text, false};
  return RateChange{str(text, "; a rate that rises again can undo what was learned: a lower ",
                        fields("optimizer.learning_rate"), " or ", fields("schedule.type"),
                        " constant avoids the rise"),
                    true};
}

TrainedModel load_trained_model(std::string_view command, const std::string& model_dir,
                                const Json& model, const std::string& vocab, bool averaged,
                                const Fields& fields) {
  auto checkpoint = checkpoint::is_checkpoint_path(model_dir)
                        ? checkpoint::load_sliced_checkpoint(model_dir)
                        : checkpoint::load_latest_sliced_checkpoint(model_dir);
  if (!checkpoint)
    throw UsageError(str(command, ": no checkpoint in ", model_dir), "train a model first");
  std::string where = checkpoint->path;
  check_vocabulary(checkpoint->state, vocab, where);
  if (checkpoint->state.contains("model") && !model.is_null())
    refuse_differences(
        io::differences(checkpoint->state["model"], without_training(model), "model"), where,
        "use the settings that it was trained with", fields);
  if (averaged && model::put_averages_in_place(checkpoint->tensors))
    log_info("{}: using the moving averages of the weights", where);
  return {.checkpoint = std::move(*checkpoint), .where = std::move(where)};
}

}  // namespace smelt::execution
