// Exports ELECTRA's two folders with parameters of the original program and compares their logits
// with the original's (tests/golden/electra_tiny.*).
#include "checkpoint/interop/hugging_face_electra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/largest_difference.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::HasSubstr;

model::ElectraConfig config_of(const Json& h) {
  const Json& o = h["model_hparam_overrides"];
  return {.vocab_size = h["vocab_size"],
          .embedding_size = h["embedding_size"],
          .hidden_size = o["hidden_size"],
          .num_hidden_layers = o["num_hidden_layers"],
          .num_attention_heads = o["num_attention_heads"],
          .intermediate_size = o["intermediate_size"],
          .max_position_embeddings = o["max_position_embeddings"],
          .generator_layers = h.value("generator_layers", 1.0),
          .generator_hidden_size = h["generator_hidden_size"],
          .untied_generator = h.value("untied_generator", true),
          .untied_generator_embeddings = h.value("untied_generator_embeddings", false)};
}

// One case of the golden file.
class ElectraFolder : public testing::Test {
 protected:
  ElectraFolder()
      : golden_(io::read_file(source_path("tests/golden/electra_tiny.safetensors")),
                "electra_tiny"),
        facts_(Json::parse(io::read_file(source_path("tests/golden/electra_tiny.json")))) {
    take("electra");
  }

  void take(const std::string& name) {
    case_ = name;
    config_ = config_of(facts_["cases"][name]["hparams"]);
    if (name == "masked_lm") config_.untied_generator = false;
    model_.parameters.clear();
    const std::string prefix = name + "/param/";
    for (const auto& [key, tensor] : golden_.tensors())
      if (key.starts_with(prefix)) model_.parameters.emplace(key.substr(prefix.size()), tensor);
    model_.vocab_txt = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (std::int64_t i = 5; i < config_.vocab_size; ++i) model_.vocab_txt += str("word", i, "\n");
    model_.tokenizer.control = text::ControlCharacters::electra;
  }

  const io::TensorView& golden(const std::string& name) const {
    return golden_.at(str(case_, "/", name));
  }
  // Returns the input ids with the generator's samples at their positions. Several samples at one
  // position are replaced by their mean, rounded down.
  std::vector<std::int32_t> replaced_ids() const {
    auto ids = io::tensor_values<std::int32_t>(golden("input/0/input_ids"));
    const auto positions = io::tensor_values<std::int32_t>(golden("input/0/masked_lm_positions"));
    const auto samples = io::tensor_values<std::int32_t>(golden("input/0/sampled_ids"));
    const std::int64_t rows = golden("input/0/input_ids").shape.dims[0];
    const std::int64_t S = std::ssize(ids) / rows, N = std::ssize(positions) / rows;
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> sums;
    for (std::int64_t i = 0; i < rows * N; ++i)
      if (positions[i] != 0) {
        auto& [sum, count] = sums[i / N * S + positions[i]];
        sum += samples[i];
        ++count;
      }
    for (const auto& [at, mean] : sums)
      ids[at] = static_cast<std::int32_t>(mean.first / mean.second);
    return ids;
  }
  // Returns the outputs that transformers computes for these ids.
  io::SafetensorsFile answers(const std::string& folder,
                              const std::vector<std::int32_t>& ids) const {
    io::TensorMap inputs;
    for (const char* name : {"input_mask", "segment_ids", "masked_lm_positions"})
      inputs.emplace(name, golden(str("input/0/", name)));
    inputs.emplace("input_ids", io::TensorView{golden("input/0/input_ids").shape,
                                               std::as_bytes(std::span(ids))});
    io::write_file(dir_.file("in"), io::safetensors_bytes(inputs));
    const auto result = run_oracle(str(source_path("tools/check_hf_folder.py"), " ", folder,
                                       " --inputs ", dir_.file("in"), " --outputs ",
                                       dir_.file("out"), " --text 'word7 word9 [MASK]'"));
    EXPECT_EQ(result.status, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("ids 2 7 9 4 3\n"));
    return io::SafetensorsFile(io::read_file(dir_.file("out")), "out");
  }
  void expect_discriminator() {
    export_hugging_face(dir_.file(case_ + "-d"), electra_discriminator(config_), model_);
    const auto out = answers(dir_.file(case_ + "-d"), replaced_ids());
    EXPECT_LT(difference(out.at("disc_logits"), golden("output/disc_logits")), 1e-5);
  }
  void expect_generator() {
    export_hugging_face(dir_.file(case_ + "-g"), electra_generator_part(config_), model_);
    const auto out = answers(dir_.file(case_ + "-g"),
                             io::tensor_values<std::int32_t>(golden("input/0/masked_ids")));
    EXPECT_LT(difference(out.at("mlm_logits"), golden("output/generator_logits")), 1e-5);
  }
  static double difference(const io::TensorView& a, const io::TensorView& b) {
    EXPECT_EQ(a.shape, b.shape);
    return largest_difference(io::tensor_values<float>(a), io::tensor_values<float>(b));
  }
  std::string refusal(const ElectraPart& part) const {
    return error_of([&] { export_hugging_face(dir_.file("refused"), part, model_); });
  }

  io::SafetensorsFile golden_;
  Json facts_;
  std::string case_;
  model::ElectraConfig config_;
  ModelFolder model_;
  TempDir dir_;
};

TEST_F(ElectraFolder, TransformersComputesTheOriginalsLogits) {
  REQUIRE_ORACLE();
  expect_discriminator();
  expect_generator();
}

TEST_F(ElectraFolder, TransformersComputesLogitsWithUntiedGeneratorEmbeddings) {
  REQUIRE_ORACLE();
  take("untied_embeddings");
  expect_generator();
}

TEST_F(ElectraFolder, TransformersComputesLogitsOfOneEncoderWithBothHeads) {
  REQUIRE_ORACLE();
  take("tied_generator");
  expect_discriminator();
  expect_generator();
}

TEST_F(ElectraFolder, TransformersComputesLogitsOfAMaskedLanguageModel) {
  REQUIRE_ORACLE();
  take("masked_lm");
  expect_generator();
}

TEST_F(ElectraFolder, ConfigsHaveClassAndSizes) {
  export_hugging_face(dir_.file("d"), electra_discriminator(config_), model_);
  export_hugging_face(dir_.file("g"), electra_generator_part(config_), model_);
  const Json d = Json::parse(io::read_file(dir_.file("d/config.json"))),
             g = Json::parse(io::read_file(dir_.file("g/config.json")));
  EXPECT_EQ(d["architectures"], Json::array({"ElectraForPreTraining"}));
  EXPECT_EQ(g["architectures"], Json::array({"ElectraForMaskedLM"}));
  EXPECT_EQ(d["model_type"], "electra");
  EXPECT_EQ(d["hidden_act"], "gelu");
  EXPECT_EQ(d["embedding_size"], 24);
  EXPECT_EQ(d["hidden_size"], 32);
  EXPECT_EQ(g["embedding_size"], 24);
  EXPECT_EQ(g["hidden_size"], 16);
  EXPECT_EQ(g["num_hidden_layers"], 1);
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("d/tokenizer_config.json")))["tokenizer_class"],
            "ElectraTokenizer");
}

TEST_F(ElectraFolder, ImportReturnsWhatWasExported) {
  export_hugging_face(dir_.file("d"), electra_discriminator(config_), model_);
  export_hugging_face(dir_.file("g"), electra_generator_part(config_), model_);
  const HuggingFaceElectra d = import_hugging_face_electra(dir_.file("d")),
                           g = import_hugging_face_electra(dir_.file("g"));
  EXPECT_EQ(d.model.tokenizer, model_.tokenizer);
  EXPECT_EQ(g.part.head, ElectraPart::Head::generator);
  EXPECT_EQ(d.part.encoder.hidden_size, 32);
  EXPECT_EQ(d.part.encoder.gelu, model::Gelu::erf);
  EXPECT_EQ(g.part.encoder.num_attention_heads, 1);
  std::size_t shared = 0;
  for (const auto& [name, tensor] : model_.parameters) {
    const bool embedding = name.starts_with("electra/embeddings/");
    shared += embedding ? 1 : 0;
    const std::string in_generator = embedding ? "generator" + name.substr(7) : name;
    if (in_generator.starts_with("generator")) {
      EXPECT_EQ(difference(g.model.parameters.at(in_generator), tensor), 0) << name;
    }
    if (!name.starts_with("generator")) {
      EXPECT_EQ(difference(d.model.parameters.at(name), tensor), 0) << name;
    }
  }
  EXPECT_EQ(d.model.parameters.size() + g.model.parameters.size(),
            model_.parameters.size() + shared);
}

TEST_F(ElectraFolder, VocabularyWithoutConfigUsesElectraDefaults) {
  model_.vocab_txt.replace(model_.vocab_txt.find("word5\n"), 6, "\u0439\n");
  export_hugging_face(dir_.file("d"), electra_discriminator(config_), model_);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"})
    std::filesystem::remove(dir_.file(str("d/", file)));
  Json config = Json::parse(io::read_file(dir_.file("d/config.json")));
  config["hidden_act"] = nullptr;
  io::write_file(dir_.file("d/config.json"), config.dump());
  EXPECT_EQ(import_hugging_face_electra(dir_.file("d")).model.tokenizer,
            (text::TokenizerOptions{.lower_case = true,
                                    .strip_accents = false,
                                    .control = text::ControlCharacters::electra}));
}

TEST_F(ElectraFolder, RejectsMismatches) {
  ElectraPart part = electra_discriminator(config_);
  part.encoder.intermediate_size = 128;
  EXPECT_THAT(refusal(part), HasSubstr("is f32[32,64], the config expects f32[32,128]"));
  part = electra_generator_part(config_);
  part.encoder.hidden_act = "relu";
  EXPECT_THAT(refusal(part),
              HasSubstr("export: hidden_act is 'relu', but ElectraForMaskedLM supports only gelu"));
  model_.vocab_txt += "more\n";
  EXPECT_THAT(refusal(electra_discriminator(config_)),
              HasSubstr("vocab.txt: 100 tokens exceed the config's vocab_size 99"));
  EXPECT_FALSE(std::filesystem::exists(dir_.file("refused")));
}

TEST_F(ElectraFolder, RejectsOtherFolders) {
  export_hugging_face(dir_.file("d"), electra_discriminator(config_), model_);
  Json config = Json::parse(io::read_file(dir_.file("d/config.json")));
  const auto refusal_of = [&] {
    io::write_file(dir_.file("d/config.json"), config.dump());
    return error_of([&] { import_hugging_face_electra(dir_.file("d")); });
  };
  config["position_embedding_type"] = "relative_key_query";
  EXPECT_THAT(refusal_of(),
              HasSubstr("position_embedding_type is 'relative_key_query', not 'absolute'"));
  config.erase("position_embedding_type");
  config.erase("embedding_size");
  EXPECT_THAT(refusal_of(), HasSubstr("embedding_size is missing or not a positive integer"));
  config["architectures"] = {"BertForPreTraining"};
  EXPECT_THAT(refusal_of(),
              HasSubstr("config.json: not the config of an ELECTRA model that smelt can read"));
  io::write_file(dir_.file("d/config.json"), "{");
  EXPECT_THAT(error_of([&] { import_hugging_face_electra(dir_.file("d")); }),
              HasSubstr("config.json: not the config of an ELECTRA model that smelt can read"));
}

}  // namespace
}  // namespace smelt::checkpoint
