// Models and datasets of the Hugging Face Hub, as a user types the commands; the Hub is a stand-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "base/str.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_files.h"
#include "runs/golden_bert.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/fake_hub.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HubCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 5; i < 99; ++i) vocab += str("word", i, "\n");
    io::write_file(dir_.file("bert/vocab.txt"), vocab);
    const GoldenBert golden;
    io::TensorMap parameters = golden.state();
    std::erase_if(parameters,
                  [](const auto& item) { return item.first.find("/adam_") != std::string::npos; });
    checkpoint::save_checkpoint(dir_.file("bert/model"), 5, parameters,
                                {{"task", "bert"}, {"model", golden.facts()["config"]}});
    checkpoint::convert_checkpoint({.from = dir_.file("bert/model"),
                                    .to = dir_.file("hf"),
                                    .form = checkpoint::ModelForm::hugging_face,
                                    .vocab = dir_.file("bert/vocab.txt")});
  }
  void add_model(std::string_view repo) const {
    for (const std::string& name : io::list_folder(dir_.file("hf")))
      hub_.add(repo, name, io::read_file(dir_.file("hf/" + name)));
  }
  std::string say(const std::string& arguments) const {
    const CommandOutput out = run_smelt(arguments);
    EXPECT_EQ(out.status, 0) << arguments << ": " << out.text;
    return out.text;
  }
  Json json(const std::string& arguments) const {
    const CommandOutput out =
        run_command(str("(", smelt_program(), " ", arguments, " --json 2>", dir_.file("err"), ")"));
    EXPECT_EQ(out.status, 0) << out.text << io::read_file(dir_.file("err"));
    return Json::parse_or_discard(out.text);
  }

  const FakeHub hub_;
  const TempDir dir_;
};

TEST_F(HubCommand, FillsWithAModelOfTheHubAndAgainOffline) {
  REQUIRE_PLUGIN("cpu");
  add_model("models/lab/tiny-bert");
  hub_.add("models/lab/tiny-bert", "pytorch_model.bin", "other weights");
  const std::string text = " --text 'word7 [MASK] word30' --device cpu";
  const Json expected = json("fill " + dir_.file("hf") + text);
  EXPECT_EQ(json("fill hf://lab/tiny-bert" + text), expected);
  EXPECT_EQ(hub_.count("pytorch_model.bin"), 0) << "only the files that smelt reads";
  const ScopedVariable offline("HF_HUB_OFFLINE", "1");
  hub_.forget_requests();
  EXPECT_EQ(json("fill lab/tiny-bert" + text), expected);
  EXPECT_THAT(io::read_file(dir_.file("err")),
              AllOf(HasSubstr("model: no local folder lab/tiny-bert; reading "
                              "hf://lab/tiny-bert from the Hugging Face Hub"),
                    HasSubstr("hf://lab/tiny-bert is commit "), HasSubstr("(offline)")));
  EXPECT_THAT(hub_.requests(), IsEmpty());
}

TEST_F(HubCommand, ConvertsAModelOfTheHubAndAgainOffline) {
  add_model("models/lab/tiny-bert");
  say("convert lab/tiny-bert " + dir_.file("one") + " --to smelt");
  const ScopedVariable offline("HF_HUB_OFFLINE", "1");
  hub_.forget_requests();
  say("convert hf://lab/tiny-bert@main " + dir_.file("two.ckpt") + " --to tf");
  EXPECT_THAT(hub_.requests(), IsEmpty());
  EXPECT_TRUE(io::exists(dir_.file("two.ckpt.index")));
  const Json both = json("inspect " + dir_.file("one"));
  EXPECT_EQ(both["parameters"], json("inspect hf://lab/tiny-bert")["parameters"]);
}

TEST_F(HubCommand, ReadsLabelledRowsOfTheHub) {
  REQUIRE_PLUGIN("cpu");
  GoldenClassify("bert").write_folder(dir_.file("classifier"));
  const std::string rows = "{\"text\": \"cat w9\"}\n{\"text\": \"dog w10\"}\n";
  io::write_file(dir_.file("rows.jsonl"), rows);
  hub_.add("datasets/lab/rows", "data/test.jsonl", rows);
  const auto predict = [&](const std::string& input) {
    return run_command(str("(", smelt_program(), " predict ", dir_.file("classifier"),
                           " --json --input ", input, " 2>/dev/null)"));
  };
  const CommandOutput expected = predict(dir_.file("rows.jsonl"));
  EXPECT_EQ(expected.status, 0) << expected.text;
  EXPECT_EQ(predict("hf://datasets/lab/rows/data/test.jsonl").text, expected.text);
}

TEST_F(HubCommand, PrefersALocalFolderAndExplainsWhatItDidNotFind) {
  EXPECT_THAT(say("inspect " + dir_.file("hf")), HasSubstr("model:       bert"));
  const auto in = [&](const std::string& arguments) {
    return run_command(str("cd ", dir_.path(), " && ", smelt_program(), " ", arguments));
  };
  fs::create_directories(dir_.file("runs"));
  EXPECT_THAT(in("convert runs/none out --to smelt").text, HasSubstr("runs/none"));
  EXPECT_THAT(hub_.requests(), IsEmpty()) << "the folder runs exists here";
  const CommandOutput missing = in("convert lab/none out --to smelt");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.text,
              AllOf(HasSubstr("from: no local folder lab/none; reading hf://lab/none"),
                    HasSubstr("hub: hf://lab/none: the Hub has no such repository"),
                    HasSubstr("check the name or the path of a local folder; for a private")));
  hub_.add("models/lab/pickled", "config.json", io::read_file(dir_.file("hf/config.json")));
  hub_.add("models/lab/pickled", "pytorch_model.bin", "PK");
  EXPECT_THAT(in("convert lab/pickled out --to smelt").text,
              HasSubstr("from_pretrained('lab/pickled')"));
}

TEST_F(HubCommand, TrainsFromWeightsAndTextOfTheHubAndKeepsTheCommits) {
  REQUIRE_PLUGIN("cpu");
  add_model("models/lab/tiny-bert");
  std::string text;
  for (int i = 0; i < 200; ++i)
    text +=
        str("word", 5 + i % 90, " word", 6 + i % 70, " word", 7 + i % 50, "\n", i % 5 ? "" : "\n");
  hub_.add("datasets/lab/prose", "data/train-00000.txt", text);
  hub_.add("datasets/lab/prose", "data/test.txt", "other\n");
  io::write_file(dir_.file("r.yaml"),
                 str("text: {input: 'hf://datasets/lab/prose/data/train-*.txt', sentences: lines, "
                     "dedup: none, heldout: 0.1}\n"
                     "data: {seq_length: 16, max_predictions: 3, dupe_factor: 1}\n"
                     "model: {type: bert}\n"
                     "train: {init_from: lab/tiny-bert, batch_size: 4, steps: 1}\n"
                     "eval: {batch_size: 4}\n"));
  const std::string run = str("run ", dir_.file("r.yaml"), " --set out=", dir_.file("out"));
  say(run);
  const std::string kept = io::read_file(dir_.file("out/recipe.yaml"));
  const std::string weights = io::canonical_path("hf://lab/tiny-bert");
  EXPECT_EQ(weights.size(), std::string("hf://lab/tiny-bert@").size() + 40);
  EXPECT_THAT(kept, HasSubstr(str("init_from: \"", weights, "\"")));
  EXPECT_THAT(kept, HasSubstr(io::canonical_path("hf://datasets/lab/prose") + "/data/train-*.txt"));
  {
    const ScopedVariable token("HF_TOKEN", "hf_writer");
    json("hub push " + dir_.file("out") + " lab/mine");
    EXPECT_THAT(io::read_file("hf://lab/mine/README.md"),
                AllOf(HasSubstr("base_model: lab/tiny-bert\nbase_model_relation: finetune\n"
                                "datasets:\n- lab/prose\nmodel-index:\n"),
                      HasSubstr("    - type: masked_lm_accuracy\n      value: ")));
  }
  expect_refusal(str("run ", dir_.file("r.yaml"), " --set out=hf://lab/out"),
                 HasSubstr("out is 'hf://lab/out', but smelt does not write to hf:// paths"));
  // A new commit with the same files changes nothing; the run itself continues with its commit.
  hub_.add("datasets/lab/prose", "data/new.txt", "new\n");
  EXPECT_THAT(say(run), HasSubstr("text: up to date"));
  hub_.add("datasets/lab/prose", "data/train-00000.txt", text + text);
  EXPECT_THAT(say("run " + dir_.file("out")), HasSubstr("text: up to date"));
  EXPECT_THAT(run_smelt(run).text,
              HasSubstr("contains a model of other data: text: hf://datasets/lab/prose/data/"
                        "train-00000.txt was "));
}

TEST_F(HubCommand, DownloadsSelectedFilesIntoTheCacheAndAFolder) {
  add_model("models/lab/tiny-bert");
  const Json all = json("hub download lab/tiny-bert");
  EXPECT_EQ(all["repo"], "lab/tiny-bert");
  EXPECT_EQ(all["files"].size(), io::list_folder(dir_.file("hf")).size());
  EXPECT_EQ(io::list_folder(all["path"]), io::list_folder(dir_.file("hf")));
  const std::string some =
      str("hub download lab/tiny-bert --revision main --include '*.json' "
          "--exclude '*token*' --output ",
          dir_.file("some"));
  const Json selected = json(some);
  EXPECT_EQ(selected["path"], dir_.file("some"));
  EXPECT_THAT(io::list_folder(dir_.file("some")), ElementsAre("config.json"));
  EXPECT_EQ(io::read_file(dir_.file("some/config.json")),
            io::read_file(dir_.file("hf/config.json")));
  EXPECT_THAT(say(some), HasSubstr(dir_.file("some") + "\n"));
  expect_refusal("hub download lab/tiny-bert --include '*.none'",
                 HasSubstr("hub download: no file of hf://lab/tiny-bert is selected"));
  expect_refusal("hub download lab/tiny-bert@x --revision y", HasSubstr("ORGANIZATION/NAME"));
  expect_refusal("hub download lab/tiny-bert --revision ../../x",
                 HasSubstr("the revision is not the name of a branch"));
  expect_refusal("hub download hf://lab/tiny-bert@x --revision y",
                 HasSubstr("--revision y and '@x' both name a revision"));
}

TEST_F(HubCommand, ContinuesTheDownloadOfAKilledProcess) {
  hub_.add("models/lab/big", "model.safetensors", std::string(100'000, 'x'));
  hub_.fault(R"([{"match": "cdn GET", "do": "stall 60000"}])");
  const std::string pid = std::string(trim(
      run_command(str(smelt_program(), " hub download lab/big > /dev/null 2>&1 & echo $!")).text));
  const auto partial = [&] {
    if (!fs::exists(hub_.cache())) return std::string();
    for (const auto& entry : fs::recursive_directory_iterator(hub_.cache()))
      if (entry.path().string().ends_with(".smelt.incomplete") && entry.file_size() > 0)
        return entry.path().string();
    return std::string();
  };
  for (int i = 0; i < 500 && partial().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_NE(partial(), "");
  run_command("kill -9 " + pid);
  const auto begun = fs::file_size(partial());
  hub_.forget_requests();
  json("hub download lab/big --output " + dir_.file("big"));
  EXPECT_EQ(io::read_file(dir_.file("big/model.safetensors")), std::string(100'000, 'x'));
  EXPECT_EQ(hub_.count(str("cdn GET ")), 1);
  EXPECT_EQ(hub_.count(str("range=bytes=", begun, "-")), 2) << "at the Hub and the CDN";
}

TEST_F(HubCommand, WhoamiShowsTheAccountAndNeverTheToken) {
  expect_refusal("hub whoami",
                 HasSubstr("hub: no access token found\n  hint: run `hf auth login`"));
  {
    const ScopedVariable token("HF_TOKEN", "hf_wrong");
    expect_refusal("hub whoami", AllOf(HasSubstr("the Hub rejects the access token from HF_TOKEN"),
                                       Not(HasSubstr("hf_wrong"))));
  }
  const ScopedVariable token("HF_TOKEN", "hf_writer");
  EXPECT_EQ(say("hub whoami"),
            "ada\norganizations: lab\ntoken: laptop, may write, from HF_TOKEN\n");
  EXPECT_EQ(json("hub whoami")["role"], "write");
}

class HubPush : public HubCommand {
 protected:
  std::string push() const { return str("hub push ", dir_.file("hf"), " lab/mine"); }
  ScopedVariable token_{"HF_TOKEN", "hf_writer"};
};

TEST_F(HubPush, PublishesOneCommitThatCanBeReadBackAndRepeated) {
  const Json first = json(push() + " --license mit");
  EXPECT_EQ(first["new"], true);
  EXPECT_THAT(first["sent"].get<std::vector<std::string>>(),
              AllOf(testing::Contains("README.md"), testing::Contains("model.safetensors")));
  EXPECT_GT(first["uploaded_bytes"].get<std::int64_t>(), 2000) << "in several parts";
  EXPECT_GT(hub_.count("cdn PUT"), 2);
  EXPECT_EQ(hub_.count("cdn"), hub_.count("auth=no")) << "no token outside of the Hub";
  const Json read = json("hub download lab/mine --output " + dir_.file("back"));
  EXPECT_EQ(read["commit"], first["commit"]);
  for (const std::string& name : io::list_folder(dir_.file("hf")))
    EXPECT_EQ(io::read_file(dir_.file("back/" + name)), io::read_file(dir_.file("hf/" + name)));
  EXPECT_EQ(io::read_file(dir_.file("back/README.md")),
            "---\nlicense: mit\nlibrary_name: transformers\npipeline_tag: fill-mask\ntags:\n- "
            "smelt\n---\n\n# lab/mine\n\nA bert model, trained with smelt.\n");
  const Json second = json(push());
  EXPECT_EQ(second["sent"].size(), 0u);
  EXPECT_EQ(second["commit"], first["commit"]);
  const ScopedVariable nobody("HF_TOKEN");
  expect_refusal("inspect hf://lab/mine", HasSubstr("no such repository, or it is private"));
}

TEST_F(HubPush, KeepsTheReadmeOfTheUserAndAddsMissingMetadata) {
  io::write_file(dir_.file("hf/README.md"), "---\nlicense: mit\n---\nMy model.\n");
  json(push());
  json("hub download lab/mine --output " + dir_.file("back"));
  EXPECT_EQ(io::read_file(dir_.file("back/README.md")),
            "---\nlicense: mit\nlibrary_name: transformers\npipeline_tag: fill-mask\ntags:\n- "
            "smelt\n---\nMy model.\n");
  io::write_file(dir_.file("hf/README.md"), "---\r\nlicense: mit\r\n---\r\nMy model.\r\n");
  json(push() + " --language no");
  json("hub download lab/mine --output " + dir_.file("back"));
  EXPECT_EQ(io::read_file(dir_.file("back/README.md")),
            "---\nlicense: mit\r\nlanguage: \"no\"\nlibrary_name: transformers\npipeline_tag: "
            "fill-mask\ntags:\n- smelt\n---\nMy model.\r\n");
}

TEST_F(HubPush, ReplacesNoCardThatItCouldNotRead) {
  json(push());
  hub_.fault(R"([{"match": "hub GET .*README.md", "do": "status 403"}])");
  expect_refusal(push(), HasSubstr("hf://lab/mine/README.md: access denied"));
  EXPECT_EQ(hub_.count("/commit/main"), 1);
}

TEST_F(HubPush, NeedsNoRightToCreateARepositoryThatExists) {
  json(push());
  hub_.fault(R"([{"match": "hub POST /api/repos/create", "do": "status 403"}])");
  EXPECT_EQ(json(push())["new"], false);
}

TEST_F(HubPush, FindsACommitThatWasMadeAfterItsResponseWasLost) {
  hub_.fault(R"([{"match": "hub POST .*/commit/main", "do": "status 503"},
                 {"match": "hub POST .*/commit/main", "skip": 1, "do": "commit 412"}])");
  const Json done = json(push());
  EXPECT_EQ(json("hub download lab/mine")["commit"], done["commit"]);
}

TEST_F(HubPush, DeletesWeightsThatTheFolderNoLongerHas) {
  json(push());
  fs::rename(dir_.file("hf/model.safetensors"), dir_.file("hf/other.safetensors"));
  const Json done = json(push());
  EXPECT_EQ(done["deleted"], Json::array({"model.safetensors"}));
  EXPECT_EQ(done["uploaded_bytes"], 0) << "the same bytes are there";
  fs::remove(dir_.file("hf/other.safetensors"));
  EXPECT_EQ(json(push())["deleted"], Json::array()) << "a folder without weights deletes none";
}

TEST_F(HubPush, ContinuesAfterErrorsAndPublishesNothingHalf) {
  hub_.fault(R"([{"match": "cdn PUT", "skip": 1, "times": 40, "do": "status 403"}])");
  const CommandOutput failed = run_smelt(push());
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.text,
              AllOf(HasSubstr("the upload failed: 127.0.0.1:"),
                    HasSubstr("returned HTTP status 403"), Not(HasSubstr("signed-secret"))));
  hub_.fault("[]");
  EXPECT_THAT(json("hub download lab/mine")["files"], Json::array({".gitattributes"}));
  // The response to the commit is lost, but the commit was made.
  hub_.fault(R"([{"match": "hub POST .*/commit/main", "do": "commit"}])");
  const Json done = json(push());
  EXPECT_EQ(hub_.count("/commit/main"), 1);
  EXPECT_EQ(json("hub download lab/mine")["commit"], done["commit"]);
}

TEST_F(HubPush, StopsIfAnotherCommitWasMade) {
  json(push());
  io::write_file(dir_.file("hf/new.txt"), "new\n");
  hub_.fault(R"([{"match": "hub POST .*/commit/main", "times": 9, "do": "status 412"}])");
  expect_refusal(push(), HasSubstr("another commit was made while the files were uploaded; nothing "
                                   "was changed"));
}

TEST_F(HubPush, StopsIfItCannotKnowWhetherItsCommitWasMade) {
  // Its commit is made, but another one changes one of the files before main is looked up.
  io::write_file(dir_.file("hf/moved.txt"), "mine\n");
  hub_.fault(R"([{"match": "hub POST .*/commit/main", "do": "commit"},
                 {"match": "hub GET .*/revision/main", "skip": 1, "do": "move"}])");
  expect_refusal(push(), HasSubstr("its commit may have been made before\n  hint: look at the "
                                   "history of the repository"));
  fs::remove(dir_.file("hf/moved.txt"));
  fs::copy(dir_.file("hf/model.safetensors"), dir_.file("hf/other.safetensors"));
  hub_.fault("[]");
  json(push());
  // A push that only deletes: its commit is not made, but another one is.
  fs::remove(dir_.file("hf/model.safetensors"));
  hub_.fault(R"([{"match": "hub POST .*/commit/main", "do": "status 503"},
                 {"match": "hub GET .*/revision/main", "skip": 1, "do": "move", "round": 2}])");
  expect_refusal(push(), HasSubstr("its commit may have been made before"));
  hub_.fault("[]");
  EXPECT_EQ(json(push())["deleted"], Json::array({"model.safetensors"}));
}

TEST_F(HubPush, RefusesSecretsWrongFoldersAndMissingRights) {
  io::write_file(dir_.file("hf/notes.txt"), "token: hf_" + std::string(34, 'a') + "\n");
  expect_refusal(push(), HasSubstr("hub: notes.txt: contains an access token of the Hub"));
  io::write_file(dir_.file("hf/notes.txt"), "-----BEGIN RSA PRIVATE KEY-----\nx\n");
  expect_refusal(push(), HasSubstr("hub: notes.txt: contains a private key"));
  fs::remove(dir_.file("hf/notes.txt"));
  expect_refusal(push() + " --license wrong",
                 HasSubstr("README.md: the Hub rejects the metadata: \"license\" must be one"));
  EXPECT_EQ(hub_.count("/repos/create"), 0) << "nothing is created before the files are checked";
  expect_refusal(str("hub push ", dir_.file("none"), " lab/mine"),
                 HasSubstr("none: folder not found"));
  expect_refusal(str("hub push ", dir_.file("bert"), " lab/mine"),
                 HasSubstr("has no config.json, expected a Hugging Face folder"));
  expect_refusal(str("hub push ", dir_.file("hf"), " hf://lab/mine@dev"),
                 HasSubstr("hf://lab/mine@dev: smelt publishes on the branch main only"));
  expect_refusal("hub push hf://lab/other lab/mine",
                 HasSubstr("hf://lab/other: expected a folder on this machine"));
  expect_refusal(str("hub push ", dir_.file("hf"), " mine"),
                 HasSubstr("hub push: mine: expected a repository, ORGANIZATION/NAME"));
  {
    const ScopedVariable reader("HF_TOKEN", "hf_reader");
    expect_refusal(push(), HasSubstr("access denied: You do not have the rights to create"));
  }
  const ScopedVariable nobody("HF_TOKEN");
  expect_refusal(push(), HasSubstr("hub: no access token found"));
}

TEST_F(HubPush, PythonReadsThePublishedModel) {
  REQUIRE_ORACLE();
  const Json done = json(push() + " --public");
  const CommandOutput names = run_command(
      str(oracle_python(), " ", source_path("tests/io/hub/hub_client.py"), " snapshot lab/mine"));
  EXPECT_EQ(names.status, 0) << names.text;
  EXPECT_THAT(names.text, AllOf(HasSubstr("config.json "), HasSubstr("model.safetensors ")));
  EXPECT_GT(done["sent"].size(), 3u);
}

}  // namespace
}  // namespace smelt::cli
