// smelt compress distill, which uses the recipe that is stored in the teacher's run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(CompressDistill, DistillsAPrunedModelByTheTeachersRecipe) {
  REQUIRE_PLUGIN("cpu");
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("base"));
  std::string rows = "label\ttext\n";
  for (int i = 0; i < 20; ++i)
    rows += str(i % 2 == 0 ? "cats\tcat" : "dogs\tdog", " w", 8 + i % 7, "\n");
  io::write_file(dir.file("train.tsv"), rows);
  io::write_file(
      dir.file("r.yaml"),
      str("out: ", dir.file("large"), "\ndata: {train: ", dir.file("train.tsv"),
          ", seq_length: 8, validation_share: 0.3}\nmodel: {type: classify}\ntrain: {init_from: ",
          dir.file("base"), ", batch_size: 4, steps: 2}\neval: {batch_size: 4}\n"));
  const auto smelt = [&](const std::string& words) {
    const CommandOutput output = run_smelt(words);
    EXPECT_EQ(output.status, 0) << output.text;
    return output.text;
  };
  smelt("run " + dir.file("r.yaml"));
  const auto fails = [&](const std::string& words, const std::string& why) {
    const CommandOutput output = run_smelt(words);
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.text, HasSubstr(why));
  };
  const auto prune = [&](const std::string& from) {
    return str("compress prune ", dir.file(from), " --out ", dir.file("small"),
               " --layers 1 --heads 0.5 --input ", dir.file("train.tsv"),
               " --seq-length 8 --tune ");
  };
  fails(prune("base") + dir.file("taught"), "base has no stored recipe with data and task");
  fails(prune("large") + dir.file("large"), "large exists already, but");
  fails(prune("large") + dir.file("taught") + " --set distill.temperatur=3", "distill.temperatur");
  EXPECT_FALSE(io::exists(dir.file("small")));
  EXPECT_THAT(smelt(prune("large") + dir.file("taught") + " --set distill.temperature=3"),
              HasSubstr("kd_loss"));
  // The same command again resumes, as after a kill.
  const std::string again =
      smelt(prune("large") + dir.file("taught") + " --set distill.temperature=3");
  EXPECT_THAT(again, HasSubstr("small is already pruned this way"));
  EXPECT_THAT(again, HasSubstr("compress quantize"));
  fails(str("compress prune ", dir.file("large"), " --out ", dir.file("small"),
            " --keep-layers 1 --tune ", dir.file("taught")),
        "small is not the result of this prune command\n  hint: name another folder");
  fails(str("compress prune ", dir.file("large"), " --out ", dir.file("nosuch"),
            " --keep-layers 1 --tune ", dir.file("taught")),
        "nosuch is not the result of this prune command\n  hint: name another folder\n");
  // A run that was started from another student is rejected.
  const std::string other =
      str("compress prune ", dir.file("large"), " --out ", dir.file("other"), " --keep-layers 0");
  smelt(other);
  fails(other + " --tune " + dir.file("taught"), "taught was started from another student: ");
  const std::string distill =
      str("compress distill ", dir.file("large"), " ", dir.file("small"), " --out ");
  EXPECT_THAT(smelt(distill + dir.file("taught") + " --set distill.temperature=3"),
              HasSubstr("compress quantize"));
  const auto config = Json::parse(io::read_file(dir.file("taught/huggingface/config.json")));
  EXPECT_EQ(config["num_hidden_layers"], 1);
  EXPECT_EQ(config["pruned_heads"], Json({{"0", {1}}}));
  EXPECT_THAT(io::read_file(dir.file("taught/recipe.yaml")), HasSubstr("temperature: 3"));
  EXPECT_THAT(smelt(str("predict ", dir.file("taught"), " --text 'cat w9'")),
              AnyOf(HasSubstr("cats"), HasSubstr("dogs")));
  fails(
      str("compress distill ", dir.file("base"), " ", dir.file("small"), " --out ", dir.file("no")),
      "base has no stored recipe with data and task");
  EXPECT_FALSE(io::exists(dir.file("no")));
}

}  // namespace
}  // namespace smelt::cli
