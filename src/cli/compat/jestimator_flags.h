// Flags of the original JEstimator's estimator.py, with its names and defaults. The fields of its
// pre-training modules' configuration are flags --module_config.<field>.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/options/form_flags.h"
#include "cli/options/original_flags.h"
#include "model/models/jestimator_bert_config.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::cli {

// The fields of module_config.opt_config.
struct JestimatorOptimizer {
  std::string optimizer = "adamw";
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 10000;
  std::optional<std::int64_t> linear_decay_to_step;
  double momentum = 0.9, beta = 0.999, weight_decay = 0.01;
};

struct JestimatorFlags {
  std::string module_imp, module_config;
  model::JestimatorBertConfig model;  // the variant is selected by module_imp
  JestimatorOptimizer optimizer;
  std::optional<std::int64_t> mask_token_id;
  double mask_rate = 0.15;
  std::optional<std::int64_t> num_labels, num_special_tokens;  // for other modules; not used
  std::optional<std::int64_t> relative_attention_max_distance;

  std::string mode, model_dir, checkpoint_path;  // empty mode: inferred from the other flags
  bool dry_run = false, train_load_step = false, log_to_stderr = true;
  std::optional<std::int64_t> random_seed, max_train_steps, train_epochs, train_shuffle_buf,
      train_consecutive, save_every_steps, profiler_port;
  std::string train_pattern, valid_pattern, eval_pattern, pred_pattern;
  std::int64_t train_batch_size = 64, valid_batch_size = 64, eval_batch_size = 256,
               pred_batch_size = 256;
  std::int64_t num_valid_examples = -1, num_eval_examples = -1, num_pred_examples = -1;
  std::int64_t check_every_steps = 1000, max_ckpt = 10, max_save = 3;
  std::string eval_label = "eval", save_high, save_low;
  std::int64_t check_ckpt_every_secs = 60;
  std::int64_t num_partitions = 1;
  std::string model_parallel_submesh;

  // Flags that the original does not have.
  RunFlags run;
  model::DeviceConfig on = {};  // devices, set when the command runs
  std::string output;
  bool parity = false;
  OriginalRunFlags own;
};

// Adds the flags. If a flag is given twice, the last value counts.
std::shared_ptr<JestimatorFlags> add_jestimator_flags(CLI::App& command);

}  // namespace smelt::cli
