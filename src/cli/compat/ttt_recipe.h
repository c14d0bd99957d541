// Translates the flags of the original ttt (ttt/args.py) into a recipe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace smelt::cli {

struct TttFlags {
  std::string model_select = "t5-small", data_path = "data/glue/sst2", dataset_name, task = "t2t";
  std::int64_t per_device_train_batch_size = 8, eval_batch_size = 32, num_epochs_train = 6;
  std::int64_t log_steps = 400;  // steps between evaluations; -1: one evaluation per epoch
  std::int64_t max_seq_length = 128, max_src_length = 128, max_tgt_length = 20;
  std::string source_field_name = "text", target_field_name = "label";
  double lr = 0.001, warmup_ratio = 0.1;
  std::int64_t patience = 20;
  std::string scheduler = "constant";
  std::int64_t seed = 122;
  std::string eval_on = "acc";
  std::int64_t keep_ck_num = 3, ck_index_select = 0;
  bool do_train = false, do_eval = false, do_test = false;
  bool use_gpu = false, use_tpu = false, use_tb = false, default_store = false;
  std::string tpu_address = "x.x.x.x", output_path;
};

// Returns the folder of the run: output_path, or else the original's tmp/<model>_<task>_<data>.
std::string ttt_output(const TttFlags& flags);
// Returns the recipe's fields by path, for a number of devices. Throws UsageError, which names the
// flags, for invalid values and if data or model do not exist.
std::map<std::string, std::string> ttt_recipe(const TttFlags& flags, const std::string& device,
                                              std::int64_t devices);
// Returns the contents of args.json.
OrderedJson ttt_arguments(const TttFlags& flags, std::int64_t devices);

}  // namespace smelt::cli
