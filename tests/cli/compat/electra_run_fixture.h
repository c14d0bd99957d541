// A test fixture with a data folder of the original ELECTRA commands and tiny models.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {

class ElectraRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    io::write_file(data("vocab.txt"), io::read_file(golden("vocab_uncased.txt")));
  }
  static std::string golden(const std::string& name) {
    return source_path("tests/golden/pretraining/" + name);
  }
  std::string data(const std::string& name) const { return dir_.file("data/" + name); }
  // Returns the hyperparameters of a tiny model for sequences of 16 tokens; `more` overrides them.
  static Json tiny(const Json& more) {
    Json h = {{"vocab_size", 345},
              {"max_seq_length", 16},
              {"embedding_size", 16},
              {"model_hparam_overrides", {{"hidden_size", 32}, {"num_hidden_layers", 1}}},
              {"train_batch_size", 4},
              {"eval_batch_size", 4},
              {"num_warmup_steps", 2},
              {"iterations_per_loop", 2},
              {"save_checkpoints_steps", 3},
              {"num_train_steps", 6}};
    h.update(more);
    return h;
  }
  CommandOutput pretrain(const Json& more = Json::object(), const std::string& flags = "",
                         const std::string& model = "m") const {
    io::write_file(dir_.file("h.json"), tiny(more).dump());
    return run_smelt(str("electra run_pretraining --model-name ", model, " --data-dir ",
                         dir_.file("data"), " --hparams ", dir_.file("h.json"),
                         " --no-write-tf-checkpoint ", flags));
  }
  CommandOutput ask(const std::string& what) const {
    return run_smelt(str("electra ", what, " --data-dir ", dir_.file("data"), " --model-name m"));
  }
  void make_data() const {
    io::write_file(dir_.file("corpus/english.txt"), io::read_file(golden("english.txt")));
    const CommandOutput made = run_smelt(str(
        "electra build_pretraining_dataset --max-seq-length 16 --corpus-dir ", dir_.file("corpus"),
        " --vocab-file ", data("vocab.txt"), " --output-dir ", data("pretrain_tfrecords")));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  // Swaps the last two words of the vocabulary file.
  void exchange_last_words() const {
    std::string vocab = io::read_file(data("vocab.txt"));
    const std::size_t end = vocab.rfind('\n', vocab.size() - 2);
    const std::size_t start = vocab.rfind('\n', end - 1) + 1;
    std::rotate(vocab.begin() + static_cast<std::ptrdiff_t>(start),
                vocab.begin() + static_cast<std::ptrdiff_t>(end) + 1, vocab.end());
    io::write_file(data("vocab.txt"), vocab);
  }
  // Copies three record files of the original program: 128 tokens, with a cased vocabulary.
  void take_the_originals_data() const {
    for (const int i : {0, 1, 2}) {
      const std::string name = str("pretrain_data.tfrecord-", i, "-of-1000");
      io::write_file(data("pretrain_tfrecords/" + name),
                     io::read_file(source_path("tests/golden/electra/" + name)));
    }
  }
  TempDir dir_;
};

}  // namespace smelt::cli
