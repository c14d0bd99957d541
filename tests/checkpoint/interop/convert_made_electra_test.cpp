// Converts ELECTRA folders that transformers' own classes have saved to smelt's format and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/interop/convert.h"
#include "io/filesystem/file.h"
#include "io/formats/safetensors.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class TransformersElectra : public testing::Test {
 protected:
  void make(const std::string& flags) const {
    const CommandOutput made = run_oracle(
        str(source_path("tools/make_hf_electra.py"), " ", dir_.file("made"), " ", flags));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  void convert(const std::string& from, const std::string& to, ModelForm form) const {
    convert_checkpoint({.from = dir_.file(from), .to = dir_.file(to), .form = form});
  }
  TempDir dir_;
};

TEST_F(TransformersElectra, RoundTripKeepsLogits) {
  REQUIRE_ORACLE();
  make("");
  convert("made", "m", ModelForm::smelt);
  convert("m", "back", ModelForm::hugging_face);
  convert("made/generator", "g", ModelForm::smelt);
  convert("g", "alone", ModelForm::hugging_face);
  EXPECT_FALSE(fs::exists(dir_.file("alone/discriminator")));
  EXPECT_EQ(io::read_file(dir_.file("alone/generator/model.safetensors")),
            io::read_file(dir_.file("back/generator/model.safetensors")));
  const io::SafetensorsFile want(io::read_file(dir_.file("made/out.safetensors")), "out");
  for (const auto& [part, logits] :
       {std::pair{"discriminator", "disc_logits"}, {"generator", "mlm_logits"}}) {
    const auto result =
        run_oracle(str(source_path("tools/check_hf_folder.py"), " ", dir_.file(str("back/", part)),
                       " --inputs ", dir_.file("made/in.safetensors"), " --outputs ",
                       dir_.file("out"), " --text 'word7 word9 [MASK]'"));
    ASSERT_EQ(result.status, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("ids 2 7 9 4 3\n"));
    const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
    EXPECT_EQ(out.at(logits).shape, want.at(logits).shape);
    EXPECT_LT(largest_difference(io::tensor_values<float>(out.at(logits)),
                                 io::tensor_values<float>(want.at(logits))),
              1e-5);
  }
}

TEST_F(TransformersElectra, RejectsGeneratorWithAnotherNumberOfHeads) {
  REQUIRE_ORACLE();
  make("--own-embeddings --generator-heads 2");
  EXPECT_THAT(error_of<UsageError>([&] { convert("made", "m", ModelForm::smelt); }),
              HasSubstr("made: the generator's num_attention_heads is 2, must be 1 to fit this "
                        "discriminator\n  hint: use each of the two folders separately"));
  convert("made/generator", "g", ModelForm::smelt);
  EXPECT_EQ(open_stored_model(dir_.file("g"), "t").config["num_attention_heads"], 2);
}

}  // namespace
}  // namespace smelt::checkpoint
