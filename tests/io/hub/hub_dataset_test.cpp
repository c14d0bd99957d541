#include "io/hub/hub_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/hub/hub_files.h"
#include "support/error_of.h"
#include "support/fake_hub.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// tools/golden_dataset_files.py made the expected lists with the `datasets` library.
TEST(HubDataset, FindsTheSplitsThatTheDatasetsLibraryFinds) {
  const Json golden = Json::parse(read_file(source_path("tests/golden/dataset_files.json")));
  EXPECT_GE(golden["cases"].size(), 14u);
  for (const Json& one : golden["cases"].elements()) {
    const auto paths = one["paths"].get<std::vector<std::string>>();
    for (const char* split : {"train", "validation", "test"})
      EXPECT_EQ(dataset_split(paths, one["readme"].string(), split),
                one[split].get<std::vector<std::string>>())
          << split << ": " << one.dump();
  }
}

TEST(HubDataset, RefusesInvalidMetadata) {
  EXPECT_THAT(error_of<UsageError>([] { dataset_split({"a.txt"}, "---\na: [\n---\n", "train"); }),
              HasSubstr("README.md of the dataset: line "));
}

TEST(HubDataset, RefusesToChooseAConfiguration) {
  EXPECT_THAT(error_of<UsageError>([] {
                dataset_split({"a.txt", "b.txt"},
                              "---\r\nconfigs:\r\n- config_name: ab\r\n  data_files: a.txt\r\n"
                              "- config_name: de\r\n  data_files: b.txt\r\n---\r\n",
                              "train");
              }),
              HasSubstr("the dataset has 2 configurations and no default: ab, de"));
}

TEST(HubDataset, IsExpandedFromTheNameOfTheDataset) {
  const FakeHub hub;
  hub.add("datasets/lab/prose", "data/train-00000-of-00001.txt", "a\n");
  hub.add("datasets/lab/prose", "data/test-00000-of-00001.txt", "b\n");
  hub.add("datasets/lab/empty", "notes.md", "c\n");
  EXPECT_THAT(expand_files("hf://datasets/lab/prose", "text.input"),
              ElementsAre("hf://datasets/lab/prose/data/train-00000-of-00001.txt"));
  EXPECT_THAT(expand_files("hf://datasets/lab/prose", "data.test"),
              ElementsAre("hf://datasets/lab/prose/data/test-00000-of-00001.txt"));
  EXPECT_THAT(
      error_of<UsageError>([] { expand_files("hf://datasets/lab/prose", "data.validation"); }),
      HasSubstr("hf://datasets/lab/prose: no validation data found in 2 files"));
  EXPECT_THAT(error_of<UsageError>([] { expand_files("hf://datasets/lab/empty", "text.input"); }),
              HasSubstr("hub: hf://datasets/lab/empty: no train data found in 1 file"));
}

}  // namespace
}  // namespace smelt::io
