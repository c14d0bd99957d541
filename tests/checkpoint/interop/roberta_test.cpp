// RoBERTa against transformers (tools/golden_roberta.py): losses, gradients, predictions, folders,
// ONNX files and texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/checkpoint.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "model/models/roberta_config.h"
#include "model/nn/layers.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/token_features.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/text_pair.h"

namespace smelt::checkpoint {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kLength = 10;

// One of the four models of tests/golden/roberta_tiny.*.
class GoldenRoberta {
 public:
  explicit GoldenRoberta(std::string kind)
      : kind_(std::move(kind)),
        file_(io::read_file(source_path("tests/golden/roberta_tiny.safetensors")), "roberta_tiny"),
        facts_(Json::parse(io::read_file(source_path("tests/golden/roberta_tiny.json")))[kind_]) {}

  bool is_classifier() const { return kind_ != "words"; }
  double loss() const { return facts_["loss"]; }
  model::Encoder encoder() const {
    return model::parse_encoder("roberta", facts_["config"], "golden");
  }
  std::vector<float> values(const std::string& name) const {
    return io::tensor_values<float>(file_.at(str(kind_, "/", name)));
  }
  io::TensorMap state() const {
    const std::string prefix = kind_ + "/param/";
    io::TensorMap state;
    for (const auto& [name, view] : file_.tensors())
      if (name.starts_with(prefix)) state[name.substr(prefix.size())] = view;
    return state;
  }
  io::Labels labels() const {
    const io::Problem problem = kind_ == "texts"    ? io::Problem::single_label
                                : kind_ == "tokens" ? io::Problem::token_labels
                                                    : io::Problem::answer_spans;
    if (problem == io::Problem::answer_spans) return {.problem = problem, .names = {}};
    return {.problem = problem, .names = {"a", "b", "c"}};
  }
  // The pretraining task uses the golden masks instead of drawing its own.
  model::Task task() const {
    if (is_classifier())
      return model::classify_task(
          {.encoder = encoder(), .seq_length = kLength, .labels = labels(), .dropout = 0});
    const model::MaskedLmTask settings{.encoder = encoder(), .seq_length = kLength};
    model::Task task = model::masked_lm_task(settings);
    task.features.push_back(model::masked_positions_feature(kLength, 2));
    task.features.push_back({.name = "masked_lm_ids", .row = {2}, .limit = 29});
    task.features.push_back(
        {.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = {2}});
    task.draws = false;
    task.objective = [settings](const model::Scope& root, const model::Inputs& in) {
      return model::masked_lm_objective(root, settings, model::encoder_inputs(in),
                                        {.positions = in["masked_lm_positions"],
                                         .ids = in["masked_lm_ids"],
                                         .weights = in["masked_lm_weights"]});
    };
    return task;
  }
  data::Batch batch(const io::Features& features) const {
    data::Batch out;
    out.rows = 3;
    for (const io::Feature& feature : features) {
      if (feature.name == "is_real_example") {
        data::HostArray real{{compiler::DType::s32, {3}}, std::vector<std::byte>(12)};
        std::ranges::fill(real.values<std::int32_t>(), 1);
        out.arrays.push_back(std::move(real));
        continue;
      }
      const io::TensorView& view = file_.at(str(kind_, "/", feature.name));
      out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
    }
    return out;
  }
  io::TensorMap inputs() const {
    io::TensorMap out;
    for (const char* name : {"input_ids", "input_mask", "segment_ids"})
      out[name] = file_.at(str(kind_, "/", name));
    if (!is_classifier()) out["masked_lm_positions"] = file_.at("words/masked_lm_positions");
    return out;
  }

 private:
  std::string kind_;
  io::SafetensorsFile file_;
  Json facts_;
};

// Returns the tokenizer.json of a byte-level BPE like RoBERTa's: 29 tokens, with RoBERTa's ids for
// the special tokens and "ab" as the only merge.
std::string tokenizer_text() {
  Json vocab{{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"\u0120", 4}, {"ab", 5}};
  for (int i = 0; i < 22; ++i) vocab[std::string(1, static_cast<char>('a' + i))] = 6 + i;
  vocab["<mask>"] = 28;
  Json added = Json::array();
  for (const auto& [token, id] :
       {std::pair{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 28}})
    added.push_back({{"id", id},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", id == 28},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  const Json around{{"type", "RobertaProcessing"},
                    {"sep", {"</s>", 2}},
                    {"cls", {"<s>", 0}},
                    {"trim_offsets", true},
                    {"add_prefix_space", false}};
  const Json model{{"type", "BPE"},
                   {"vocab", vocab},
                   {"merges", Json::array({"a b"})},
                   {"unk_token", nullptr},
                   {"dropout", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false}};
  return Json{{"version", "1.0"},       {"added_tokens", added},    {"normalizer", nullptr},
              {"pre_tokenizer", bytes}, {"post_processor", around}, {"decoder", bytes},
              {"model", model}}
      .dump();
}

class Roberta : public testing::TestWithParam<const char*> {
 protected:
  // Writes the golden weights as a smelt checkpoint and exports them to "hf".
  void export_folder(const GoldenRoberta& golden) const {
    io::write_file(dir_.file("run/tokenizer.json"), tokenizer_text());
    Json settings{{"task", "roberta"}, {"model", model::encoder_config_json(golden.encoder())}};
    if (golden.is_classifier()) {
      settings.update(classifier_settings("roberta", {.labels = golden.labels(), .dropout = 0}));
      settings["task"] = "classify";
    }
    save_checkpoint(dir_.file("run"), 5, golden.state(), settings);
    convert_checkpoint({.from = dir_.file("run"),
                        .to = dir_.file("hf"),
                        .form = ModelForm::hugging_face,
                        .vocab = dir_.file("run/tokenizer.json")});
  }
  std::vector<float> scores_by(const char* tool, const std::string& of,
                               const GoldenRoberta& golden) const {
    io::write_file(dir_.file("in"), io::safetensors_bytes(golden.inputs()));
    const auto run =
        run_oracle(str(source_path(str("tools/", tool)), " ", dir_.file(of), " --inputs ",
                       dir_.file("in"), " --outputs ", dir_.file("out")));
    EXPECT_EQ(run.status, 0) << run.text;
    if (run.status != 0) return {};
    const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
    return io::tensor_values<float>(out.at(golden.is_classifier() ? "class_logits" : "mlm_logits"));
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, Roberta, testing::Values("words", "texts", "tokens", "spans"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Roberta, LossAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenRoberta golden(GetParam());
  const model::Task task = golden.task();
  model::TrainingConfig config;
  config.batch_size = 3;
  const auto [loss, gradients] =
      step_gradients(client, task, config, golden.batch(task.features), golden.state());
  EXPECT_NEAR(loss, golden.loss(), kLossTolerance * golden.loss());
  EXPECT_EQ(gradients.size(), golden.state().size());
  for (const auto& [name, gradient] : gradients) {
    const auto [difference, size] = distance(gradient, golden.values("grad/" + name));
    EXPECT_LE(difference, kGradientTolerance * size + 1e-7) << name;
  }
}

TEST_P(Roberta, TransformersComputesTheSameScoresFromAnExportedFolder) {
  REQUIRE_ORACLE();
  const GoldenRoberta golden(GetParam());
  export_folder(golden);
  std::vector<float> want = golden.values("scores");
  if (!golden.is_classifier()) {  // selects the rows of the masked positions
    std::vector<float> picked;
    const auto at = io::tensor_values<std::int32_t>(golden.inputs().at("masked_lm_positions"));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto row = (i / 2 * kLength + static_cast<std::size_t>(at[i])) * 29;
      picked.insert(picked.end(), want.begin() + static_cast<std::ptrdiff_t>(row),
                    want.begin() + static_cast<std::ptrdiff_t>(row + 29));
    }
    want = picked;
  }
  const auto got = scores_by("check_hf_folder.py", "hf", golden);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

TEST_P(Roberta, RoundTripOfAnExportedFolderIsUnchanged) {
  const GoldenRoberta golden(GetParam());
  export_folder(golden);
  const StoredModel model = open_stored_model(dir_.file("hf"), "test");
  EXPECT_EQ(model_type_of(model.tensors), golden.is_classifier() ? "classify" : "roberta");
  EXPECT_EQ(model.config, model::encoder_config_json(golden.encoder()));
  EXPECT_TRUE(model.skipped.empty());
  EXPECT_EQ(model.tensors.size(), golden.state().size());
  for (const auto& [name, view] : golden.state())
    EXPECT_EQ(model.tensors.at(name).read(),
              std::vector<std::byte>(view.data.begin(), view.data.end()))
        << name;
}

TEST_P(Roberta, OnnxFileComputesTheSameScores) {
  REQUIRE_ORACLE();
  const GoldenRoberta golden(GetParam());
  export_folder(golden);
  write_onnx_model(dir_.file("hf"), dir_.file("model.onnx"));
  io::write_file(dir_.file("in"), io::safetensors_bytes(golden.inputs()));
  const auto run = run_oracle(str(source_path("tools/check_onnx.py"), " ", dir_.file("model.onnx"),
                                  " --inputs ", dir_.file("in"), " --outputs ", dir_.file("out")));
  ASSERT_EQ(run.status, 0) << run.text;
  const io::SafetensorsFile out(io::read_file(dir_.file("out")), "out");
  const auto got = io::tensor_values<float>(out.at("class_logits")), want = golden.values("scores");
  const auto mask = io::tensor_values<std::int32_t>(golden.inputs().at("input_mask"));
  ASSERT_EQ(got.size(), want.size());
  const bool of_texts = std::string(GetParam()) == "texts";
  const std::size_t columns = of_texts ? 1 : got.size() / mask.size();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (of_texts || mask[i / columns] == 1) {
      EXPECT_NEAR(got[i], want[i], 1e-5) << i;
    }
}

TEST_P(Roberta, OnnxUsesGeluOnlyInTheHeadOfWordsIfTheLayersUseRelu) {
  const GoldenRoberta golden(GetParam());
  export_folder(golden);
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["hidden_act"] = "relu";
  io::write_file(dir_.file("hf/config.json"), config.dump());
  write_onnx_model(dir_.file("hf"), dir_.file("model.onnx"));
  const std::string file = io::read_file(dir_.file("model.onnx"));
  EXPECT_EQ(file.find("Erf") != std::string::npos, std::string(GetParam()) == "words");
}

TEST_P(Roberta, UntiedOutputEmbeddingsAreRefused) {
  export_folder(GoldenRoberta(GetParam()));
  Json config = Json::parse(io::read_file(dir_.file("hf/config.json")));
  config["tie_word_embeddings"] = false;
  io::write_file(dir_.file("hf/config.json"), config.dump());
  const io::SafetensorsFile file(io::read_file(dir_.file("hf/model.safetensors")), "model");
  io::TensorMap tensors = file.tensors();
  tensors["lm_head.decoder.weight"] = tensors.at("roberta.embeddings.word_embeddings.weight");
  io::write_file(dir_.file("hf/model.safetensors"), io::safetensors_bytes(tensors));
  EXPECT_THAT(error_of<UsageError>([&] { open_stored_model(dir_.file("hf"), "test"); }),
              HasSubstr("tie_word_embeddings is false and lm_head.decoder.weight exists"));
}

TEST(RobertaFolder, ReadsPrunedHeads) {
  const TempDir dir;
  GoldenRoberta golden("texts");
  auto config = model::encoder_config_json(golden.encoder());
  config["num_attention_heads"] = 1;
  config["attention_head_size"] = 8;
  io::LazyTensors tensors;
  const model::Encoder encoder = model::parse_encoder("roberta", config, "test");
  for (const ParameterName& name :
       family_of_encoder("roberta").classifier(encoder, io::Problem::single_label, 2).names)
    tensors.emplace(name.original, io::LazyTensor{name.shape, [bytes = name.shape.size_bytes()] {
                                                    return std::vector<std::byte>(bytes);
                                                  }});
  HuggingFaceClassifier model{
      .encoder = encoder, .labels = {.names = {"a", "b"}}, .dropout = 0, .folder = {}};
  model.folder.vocab_txt = tokenizer_text();
  export_hugging_face(dir.file("hf"), std::move(model), tensors, {});
  const Json written = Json::parse(io::read_file(dir.file("hf/config.json")));
  EXPECT_EQ(written["num_attention_heads"], 2);
  EXPECT_EQ(written["pruned_heads"], Json::parse(R"({"0": [1], "1": [1]})"));
  EXPECT_EQ(open_stored_model(dir.file("hf"), "test").config, config);
}

TEST(RobertaFillMask, BestGuessesMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenRoberta golden("words");
  model::Prediction guesses = model::mask_guesses(golden.encoder(), kLength, 2, 1);
  guesses.outputs = [all = guesses.outputs](const model::Scope& root, const model::Inputs& in) {
    return std::vector<compiler::Tensor>{all(root, in)[0]};  // the probabilities
  };
  const Probe got = probe(client, guesses, golden.batch(guesses.features), golden.state());
  const auto scores = golden.values("scores");
  const auto at = io::tensor_values<std::int32_t>(golden.inputs().at("masked_lm_positions"));
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] == 0) continue;
    const auto row = (i / 2 * kLength + static_cast<std::size_t>(at[i])) * 29;
    const std::span words = std::span(scores).subspan(row, 29);
    const float best = *std::ranges::max_element(words);
    double sum = 0;
    for (const float score : words) sum += std::exp(static_cast<double>(score - best));
    EXPECT_NEAR(got.results[0][i], 1 / sum, 1e-5) << i;
  }
}

TEST(RobertaTokenizer, AddsSpecialTokensAroundAndBetweenTexts) {
  const auto subword = std::make_shared<const text::SubwordTokenizer>(
      text::parse_subword_json(tokenizer_text(), "tokenizer.json"), "tokenizer.json");
  const text::BertTokenizer tokenizer(subword);
  const text::TextPairEncoder encoder(tokenizer, 12);
  EXPECT_EQ(encoder.encode("abc", "").ids, (std::vector<std::int32_t>{0, 5, 8, 2}));
  EXPECT_EQ(encoder.encode("ab", "c").ids, (std::vector<std::int32_t>{0, 5, 2, 2, 8, 2}));
  EXPECT_EQ(tokenizer.vocabulary().id("[MASK]"), 28);
  EXPECT_EQ(tokenizer.vocabulary().special_name("[PAD]"), "<pad>");
}

TEST(RobertaTokenizer, SupportsUnigramVocabularyOfXlmRoberta) {
  Json file = Json::parse(tokenizer_text());
  file["model"] = {{"type", "Unigram"},
                   {"unk_id", 3},
                   {"vocab", Json::array({Json::array({"<s>", 0.0}), Json::array({"<pad>", 0.0}),
                                          Json::array({"</s>", 0.0}), Json::array({"<unk>", 0.0}),
                                          Json::array({"\u2581a", -1.0})})}};
  file["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\u2581"}};
  const auto token = [](const char* id) { return Json{{"SpecialToken", {{"id", id}}}}; };
  const Json text{{"Sequence", {{"id", "A"}}}};
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", Json::array({token("<s>"), text, token("</s>")})}};
  EXPECT_TRUE(text::is_subword_json(file.dump()));
  const text::SubwordFile read = text::parse_subword_json(file.dump(), "tokenizer.json");
  EXPECT_EQ(&text::special_tokens_of(read), &text::kRobertaTokens);
  file["post_processor"]["single"] = Json::array({text, token("</s>")});
  EXPECT_EQ(&text::special_tokens_of(text::parse_subword_json(file.dump(), "tokenizer.json")),
            &text::kBertTokens);
}

TEST(RobertaTask, DrawsDynamicMasksAndRequiresAtLeastOne) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenRoberta golden("words");
  const model::MaskedLmTask settings{
      .encoder = golden.encoder(), .seq_length = kLength, .mask = 28};
  EXPECT_EQ(settings.masking().most, 1);
  EXPECT_THAT(
      error_of<UsageError>([&] {
        model::masked_lm_task({.encoder = golden.encoder(), .seq_length = 5, .mask_prob = 0.1});
      }),
      HasSubstr("roberta: mask_prob 0.1 of 5 tokens masks 0 of them, must be at least 1\n"
                "  hint: 0.15 is usual"));
  const model::Task task = model::masked_lm_task(settings);
  model::TrainingConfig config;
  config.batch_size = 3;
  const auto [loss, gradients] =
      step_gradients(client, task, config, golden.batch(task.features), golden.state());
  EXPECT_TRUE(std::isfinite(loss) && loss > 0) << loss;
}

TEST(RobertaConfig, XlmRobertaHasItsOwnClassNames) {
  const Json config{{"model_type", "xlm-roberta"}, {"vocab_size", 29}};
  const model::Encoder encoder = model::parse_encoder("roberta", config, "c");
  EXPECT_EQ(classifier_class(encoder, io::Problem::single_label),
            "XLMRobertaForSequenceClassification");
  EXPECT_EQ(family_of_config(config, "c").name(), "roberta");
  const Json classifier{{"model_type", "xlm-roberta"},
                        {"architectures", {"XLMRobertaForTokenClassification"}}};
  EXPECT_EQ(classifier_head(classifier, "c")->labels.problem, io::Problem::token_labels);
}

TEST(RobertaConfig, CamembertIsARobertaWithItsOwnClassNames) {
  const Json config{{"model_type", "camembert"}, {"vocab_size", 29}};
  const model::Encoder encoder = model::parse_encoder("roberta", config, "c");
  EXPECT_EQ(family_of_config(config, "c").name(), "roberta");
  const auto named =
      find_stored_family("roberta")->classifier(encoder, io::Problem::single_label, 2);
  EXPECT_EQ(named.config["architectures"], Json({"CamembertForSequenceClassification"}));
  EXPECT_EQ(named.config["model_type"], "camembert");
  EXPECT_EQ(named.config["bos_token_id"], 5);
  EXPECT_EQ(named.config["eos_token_id"], 6);
}

TEST(RobertaConfig, PositionsMustReachBeyondThePadding) {
  const Json config{{"vocab_size", 29}, {"max_position_embeddings", 2}};
  EXPECT_THAT(error_of<UsageError>([&] { model::parse_encoder("roberta", config, "c"); }),
              HasSubstr("c: max_position_embeddings is 2, must be above pad_token_id + 1 = 2\n"
                        "  hint: roberta-base has max_position_embeddings 514 and pad_token_id 1"));
  const Json norm{{"vocab_size", 29}, {"layer_norm_eps", 0.0}};
  EXPECT_THAT(error_of<UsageError>([&] { model::parse_encoder("roberta", norm, "c"); }),
              HasSubstr("c: layer_norm_eps is 0, must be above 0\n  hint: 1e-5 is usual"));
}

}  // namespace
}  // namespace smelt::checkpoint
