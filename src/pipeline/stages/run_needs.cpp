#include "pipeline/stages/run_needs.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/progress.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"
#include "pipeline/stages/pipeline.h"
#include "train/initial_state.h"

namespace smelt::pipeline {
namespace {

// Returns the maximum number of checkpoints that exist at the same time, including all those that
// keep_period keeps forever.
double checkpoints_at_most(const Recipe& r) {
  const train::CheckpointOptions& c = r.train.checkpoint;
  const bool by_time = r.train.seconds > 0;  // the number of steps is unknown
  const std::int64_t steps = by_time ? 0 : r.train.steps;
  const std::int64_t saved =
      by_time || c.save_interval_minutes > 0 ? c.max_to_keep : steps / c.save_interval_steps + 1;
  const std::int64_t for_ever = c.keep_period > 0 ? steps / c.keep_period : 0;
  const bool rolls_back = r.train.loss_spike.action == model::SpikeAction::rewind;
  return static_cast<double>(std::min(c.max_to_keep, saved)) + 1 + static_cast<double>(for_ever) +
         (c.best_metric.empty() ? 0
          : rolls_back          ? 3
                                : 2);
}

// Returns the number of checkpoints that an existing run has.
double checkpoints_there(const std::string& model_dir) {
  std::size_t count = checkpoint::checkpoint_steps(model_dir).size();
  for (const char* kept : {"save", "best"})
    count += checkpoint::checkpoint_steps(io::join_path(model_dir, kept)).size();
  return static_cast<double>(count);
}

// Returns the free disk space for a folder that may not exist yet; nullopt for a remote store.
std::optional<double> free_space(const std::string& folder) {
  if (io::is_remote(folder)) return std::nullopt;
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  const auto space = std::filesystem::space(at, error);
  if (error) return std::nullopt;
  return static_cast<double>(space.available);
}

// Estimates the size of records. A word piece is about four letters and a space; most numbers in a
// record take two bytes.
double records_bytes(const Recipe& r, double text) {
  if (!r.program->step) return 0;
  const io::Features& features = r.program->step->features;
  double row = 0, tokens = 1;
  for (const io::Feature& feature : features) {
    row += static_cast<double>(feature.count());
    tokens = std::max(tokens, static_cast<double>(feature.count()));
  }
  return text / 5 / tokens * 2 * row * r.data.value("dupe_factor", 1.0);
}

double state_bytes(const ProgramFacts& facts) {
  return static_cast<double>(facts.value_bytes) + static_cast<double>(facts.slot_bytes);
}

}  // namespace

DeviceMemory device_memory(const Recipe& r) {
  const ProgramFacts& facts = *r.program;
  if (!facts.step) return {};
  const model::ShardingPlan& placement = facts.step->placement;
  const auto fsdp = static_cast<double>(placement.partition.size("fsdp"));
  const auto tensor = static_cast<double>(placement.partition.size("tensor"));
  return {.values = static_cast<double>(facts.value_bytes) / fsdp / tensor,
          .slots = static_cast<double>(facts.slot_bytes) / fsdp / tensor,
          .batch =
              static_cast<double>(facts.batch_bytes) / static_cast<double>(placement.row_shards())};
}

void check_machine_memory(const Recipe& r) {
  if (r.train.device != "cpu") return;
  const DeviceMemory one = device_memory(r);
  const auto devices = static_cast<double>(r.train.devices);
  const double state = devices * (2 * one.values + one.slots), batch = devices * one.batch;
  const double memory = machine_memory();
  if (state + batch <= memory) return;
  throw UsageError(
      str("train: weights, gradients and optimizer state on ", r.train.devices, " x cpu are ",
          bytes_text(state), " and a batch is ", bytes_text(batch),
          ", more than this machine's memory of ", bytes_text(memory)),
      batch > state ? str("lower train.batch_size, which is ", r.train.batch_size)
                    : str("choose a smaller model", r.train.devices > 1 ? " or fewer train.devices"
                                                                        : ", or check its sizes"));
}

DiskNeed disk_need(const Recipe& r) {
  const RecipePaths p(r);
  DiskNeed need;
  if (r.type->reads_text() && r.ready.records.empty() && !can_continue_without_text(r)) {
    const double text = unpacked_bytes(text_inputs(r));
    if (!io::exists(p.train_text)) need.text = text;
    if (record_files(p.train_records).empty()) need.records = records_bytes(r, text);
  }
  need.checkpoint = state_bytes(*r.program);
  need.checkpoints = need.checkpoint * checkpoints_at_most(r);
  need.checkpoints_there = need.checkpoint * checkpoints_there(p.model_dir);
  need.free = free_space(p.model_dir);
  return need;
}

void check_disk(const Recipe& r, const DiskNeed& need) {
  if (!need.free) return;
  if (*need.free < need.least())
    throw UsageError(
        str("out: the disk of ", r.out, " has ", bytes_text(*need.free),
            " left; text and examples need about ", bytes_text(need.text + need.records),
            ", one checkpoint ", bytes_text(need.checkpoint)),
        "free some space, or choose another disk with --set out=…");
  const std::int64_t keep_period = r.train.checkpoint.keep_period;
  if (r.train.seconds > 0 && keep_period > 0)
    log_warning(
        "out: train.checkpoint.keep_period keeps {} every {} steps, but the number of steps is not "
        "known: check that the disk of {} has enough space",
        bytes_text(need.checkpoint), keep_period, r.out);
  if (*need.free < need.most())
    log_warning(
        "out: the disk of {} has {} left, the checkpoints need up to {} more: lower {}, or free "
        "some space",
        r.out, bytes_text(*need.free), bytes_text(need.checkpoints - need.checkpoints_there),
        r.train.checkpoint.keep_period > 0
            ? "train.checkpoint.max_to_keep, raise train.checkpoint.keep_period"
            : "train.checkpoint.max_to_keep");
}

std::string initial_weights_text(const Recipe& r) {
  if (r.train.init_from.empty() || !r.program->step) return "";
  const model::StateLayout& layout = r.program->step->state;
  const train::InitialValues taken =
      train::initial_values(r.train.init_from, r.program->job->task, layout, given_vocabulary(r));
  return str(taken.taken, " of ", taken.taken + taken.fresh, " parameters");
}

}  // namespace smelt::pipeline
