#include "io/hub/hub_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/hub/hub_files.h"
#include "support/error_of.h"

namespace smelt::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(HubPath, ParsesKindRepositoryRevisionAndFile) {
  const HubPath model = parse_hub_path("hf://org/name");
  EXPECT_EQ(model.repo.kind, RepoKind::model);
  EXPECT_EQ(model.repo.id, "org/name");
  EXPECT_EQ(model.revision, "");
  EXPECT_EQ(model.revision_or_main(), "main");
  EXPECT_EQ(model.path, "");
  const HubPath data = parse_hub_path("hf://datasets/org/na.me_1@v1/dir/a b#1.txt");
  EXPECT_EQ(data.repo.kind, RepoKind::dataset);
  EXPECT_EQ(data.repo.id, "org/na.me_1");
  EXPECT_EQ(data.revision, "v1");
  EXPECT_EQ(data.path, "dir/a b#1.txt");
  EXPECT_EQ(parse_hub_path("hf://models/org/name/a@b/c").path, "a@b/c");
  EXPECT_EQ(parse_hub_path("hf://spaces/org/name").repo.kind, RepoKind::space);
  EXPECT_EQ(parse_hub_path("hf://org/name/dir/").path, "dir");
}

TEST(HubPath, ReadsSlashesOfARevision) {
  const HubPath request = parse_hub_path("hf://org/name@refs/pr/12/dir/f");
  EXPECT_EQ(request.revision, "refs/pr/12");
  EXPECT_EQ(request.path, "dir/f");
  const HubPath convert = parse_hub_path("hf://datasets/o/n@refs/convert/parquet/default/f");
  EXPECT_EQ(convert.revision, "refs/convert/parquet");
  EXPECT_EQ(convert.path, "default/f");
  const HubPath branch = parse_hub_path("hf://org/name@feature%2Fx/f");
  EXPECT_EQ(branch.revision, "feature/x");
  EXPECT_EQ(branch.path, "f");
  for (const char* text : {"hf://org/name", "hf://datasets/org/name@v1/dir/f",
                           "hf://org/name@feature%2Fx/f", "hf://org/name@refs/pr/1/f"})
    EXPECT_EQ(parse_hub_path(text).text(), text);
}

std::string fault_of(const std::string& path) {
  return error_of<UsageError>([&] { parse_hub_path(path); });
}

TEST(HubPath, RefusesNamesThatCannotBeARepository) {
  for (const char* path : {"hf://", "hf://gpt2", "hf://org/", "hf://-org/name", "hf://org/name.git",
                           "hf://org/a--b", "hf://org/a..b", "hf://org/na me", "hf://o$g/name"})
    EXPECT_THAT(fault_of(path), AllOf(HasSubstr("not the name of a repository"),
                                      HasSubstr("hf://ORGANIZATION/NAME")))
        << path;
  EXPECT_THAT(fault_of("hf://gpt2"), HasSubstr("hf://google-bert/bert-base-uncased"));
  EXPECT_THAT(fault_of("hf://dataset/org/name"), HasSubstr("hint: write hf://datasets/…"));
  EXPECT_THAT(fault_of("hf://org/name@/f"), HasSubstr("the revision behind '@' is empty"));
  EXPECT_THAT(fault_of("hf://org/name@..%2Fx/f"), HasSubstr("not the name of a branch"));
}

TEST(HubPath, RefusesFilesOutsideOfTheRepository) {
  for (const char* path : {"hf://org/name/../x", "hf://org/name/a/../../x", "hf://org/name//etc/x",
                           "hf://org/name/./x", "hf://org/name/a\nb"})
    EXPECT_THAT(fault_of(path), HasSubstr("must not contain '..'")) << path;
}

TEST(HubPath, RefusesCredentialsWithoutShowingThem) {
  EXPECT_THAT(fault_of("hf://user:hf_secret@org/name"),
              AllOf(HasSubstr("must not contain credentials"), HasSubstr("HF_TOKEN"),
                    Not(HasSubstr("hf_secret"))));
}

TEST(HubPath, RecognizesRepositoryNamesInCommands) {
  EXPECT_EQ(parse_repo("org/name", "hub download").repo.id, "org/name");
  EXPECT_EQ(parse_repo("hf://datasets/org/name@v1", "hub download").revision, "v1");
  for (const char* name : {"name", "a/b/c", "hf://org/name/file"})
    EXPECT_THAT(error_of<UsageError>([&] { parse_repo(name, "hub push"); }),
                HasSubstr("expected a repository, ORGANIZATION/NAME"));
}

TEST(HubPath, MatchesPatternsPartByPart) {
  EXPECT_TRUE(matches_hub_pattern("data/*.parquet", "data/a.parquet"));
  EXPECT_FALSE(matches_hub_pattern("data/*.parquet", "data/b/a.parquet"));
  EXPECT_TRUE(matches_hub_pattern("**/*.parquet", "a.parquet"));
  EXPECT_TRUE(matches_hub_pattern("**/*.parquet", "data/b/a.parquet"));
  EXPECT_TRUE(matches_hub_pattern("data/**", "data/b/c"));
  EXPECT_FALSE(matches_hub_pattern("*.json", ".hidden.json"));
  EXPECT_TRUE(matches_hub_pattern("train-0000[01].txt", "train-00001.txt"));
}

}  // namespace
}  // namespace smelt::io
