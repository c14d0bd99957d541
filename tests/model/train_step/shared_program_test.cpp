// Runs that differ only in seed and learning rates share one program.
#include <gtest/gtest.h>

#include "runs/golden_bert.h"

namespace smelt::model {

using compiler::emit_module;
namespace {

StepProgram program_of(const TrainingConfig& config, const char* platform, std::int64_t devices) {
  BertTask bert = GoldenBert().task();
  bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = 0.1;
  return train_program(bert_task(bert), config,
                       placement_for(platform, devices, Reduction::global));
}

std::string text_of(const StepProgram& program) { return emit_module(program.program, "step"); }

TEST(SharedProgram, IsSharedByAllSeedsAndSchedules) {
  struct Form {
    const char* platform;
    std::int64_t devices;
    Layers layers;
    std::int64_t micro_batches;
  };
  for (const Form& form : {Form{"cpu", 1, Layers::unrolled, 1}, Form{"cpu", 2, Layers::scan, 2},
                           Form{"tpu", 4, Layers::scan, 2}}) {
    TrainingConfig config = GoldenBert().config();
    config.batch_size = 8;
    config.compute.layers = form.layers;
    config.micro_batches = form.micro_batches;
    TrainingConfig other = config;
    other.seed = 7;
    other.schedule = {.learning_rate = 0.5, .warmup_steps = 3, .decay = Decay::cosine};
    const StepProgram one = program_of(config, form.platform, form.devices),
                      two = program_of(other, form.platform, form.devices);
    EXPECT_TRUE(text_of(one) == text_of(two)) << form.platform;
    EXPECT_NE(one.keys, two.keys);
    EXPECT_NE(one.rate(1), two.rate(1));
    other.batch_size *= 2;
    EXPECT_FALSE(text_of(program_of(other, form.platform, form.devices)) == text_of(one));
  }
}

}  // namespace
}  // namespace smelt::model
