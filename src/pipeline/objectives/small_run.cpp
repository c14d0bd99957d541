#include "pipeline/objectives/small_run.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/str.h"
#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {
namespace {

constexpr std::int64_t kSmallSteps = 300, kSmallBatch = 32;
constexpr std::array kOtherLengths{"train.epochs=0", "train.length=", "train.budget.usd=0"};

// Returns small values for the size fields of all types of models.
const std::map<std::string, std::string>& small_sizes() {
  static const std::map<std::string, std::string> kSizes{{"size", "small"},
                                                         {"hidden_size", "128"},
                                                         {"num_hidden_layers", "2"},
                                                         {"num_attention_heads", "2"},
                                                         {"intermediate_size", "512"},
                                                         {"embedding_size", "128"},
                                                         {"d_model", "128"},
                                                         {"d_kv", "32"},
                                                         {"d_ff", "512"},
                                                         {"num_layers", "2"},
                                                         {"num_decoder_layers", "0"},
                                                         {"num_heads", "4"}};
  return kSizes;
}

// Removes settings of fields that the user has set on the command line, and settings that
// contradict these fields. Call it before add_small_steps(), which overrides the user's steps.
std::vector<std::string> without_users(const Recipe& r, std::vector<std::string> settings) {
  static const std::map<std::string, std::vector<std::string>> kContradicted{
      {"train.schedule.warmup_ratio", {"train.schedule.warmup_steps", "train.schedule.warmup"}},
      {"train.schedule.decay_ratio",
       {"train.schedule.decay_steps", "train.schedule.decay_to_step", "train.schedule.decay"}}};
  const auto is_users = [&](const std::string& field) { return r.origin({field}) == "--set"; };
  std::erase_if(settings, [&](const std::string& setting) {
    const std::string field = setting.substr(0, setting.find('='));
    const auto others = kContradicted.find(field);
    return is_users(field) ||
           (others != kContradicted.end() && std::ranges::any_of(others->second, is_users));
  });
  return settings;
}

// Limits the steps to kSmallSteps, whichever field of the recipe sets them.
void add_small_steps(const Recipe& r, std::vector<std::string>& out) {
  out.insert(out.end(), kOtherLengths.begin(), kOtherLengths.end());
  out.push_back(str("train.steps=", std::min(kSmallSteps, r.train.steps)));
}

std::string small_out(std::string out) {
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return "out=" + out + "-small";
}

std::vector<std::string> all_settings(const Recipe& r) {
  std::vector<std::string> out{"train.device=cpu",
                               "train.devices=1",
                               "train.parallelism.mesh=auto",
                               "train.parallelism.rules=",
                               "train.gradient_accumulation_steps=1",
                               "train.parallelism.shard_optimizer_state=false",
                               "train.precision.compute=f32",
                               "train.schedule.warmup=",
                               "train.schedule.decay=",
                               "train.schedule.warmup_ratio=0.1",
                               "train.schedule.decay_ratio=0",
                               "train.schedule.decay_to_step=0",
                               "eval.steps=20",
                               "eval.every=0",
                               "eval.every_epochs=0",
                               "train.checkpoint.best_metric=",
                               "train.early_stopping.patience=0",
                               "eval.best=false",
                               "track.fill=",
                               "train.logging_steps=50"};
  for (const char* field : {"train.batch_size", "eval.batch_size"})
    out.push_back(
        str(field, "=",
            std::min(kSmallBatch, field[0] == 't' ? r.train.batch_size : r.eval.batch_size)));
  out.push_back(str("train.checkpoint.save_interval_steps=", kSmallSteps));
  out.emplace_back("train.checkpoint.keep_period=0");
  if (r.train.schedule.type == "wsd") out.emplace_back("train.schedule.decay_ratio=0.1");
  if (!r.train.init_from.empty()) return out;  // the sizes are those of the initial weights
  for (const io::ConfigField& field : r.type->model)
    if (const auto found = small_sizes().find(field.name); found != small_sizes().end())
      out.push_back(str("model.", field.name, "=", found->second));
  // Narrow models need a higher learning rate.
  if (r.train.optimizer.type.find("adam") != std::string::npos || r.train.optimizer.type == "lamb")
    out.emplace_back("train.optimizer.learning_rate=1e-3");
  return out;
}

}  // namespace

std::vector<std::string> small_settings(const Recipe& r) {
  std::vector<std::string> out = without_users(r, all_settings(r));
  add_small_steps(r, out);
  out.push_back(small_out(r.out));
  return out;
}

void add_step_settings(std::vector<std::string>& settings) {
  const auto is_steps = [](const std::string& s) { return s.starts_with("train.steps="); };
  // Later settings override earlier ones. With these at the front, a setting of the user such as
  // train.epochs=3 still takes effect, and the check for contradictions with train.steps sees it.
  if (std::ranges::any_of(settings, is_steps))
    settings.insert(settings.begin(), kOtherLengths.begin(), kOtherLengths.end());
}

}  // namespace smelt::pipeline
