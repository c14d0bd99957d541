#include <algorithm>

#include "base/error.h"
#include "fuzz/target.h"
#include "io/hub/hub_dataset.h"
#include "io/hub/hub_path.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {
      .seeds = {"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: "
                "[a/*.txt, b.txt]\n---\n# x\n",
                "---\nconfigs:\n- config_name: en\n  data_dir: a\n- config_name: de\n  default: "
                "true\n  data_files: '**/*.txt'\n---\n",
                "datasets/org/name@refs/pr/1/a/b.txt", "org/name@v%2F1/a b"},
      .words = {"---", "\n",  "configs:", "- ", "data_files:", "split:", "path:", "data_dir:",
                "&a ", "*a",  "[",        "]",  "{",           "}",      "..",    "/",
                "@",   "%2F", "refs/pr/", "--", "models/",     "\xff"},
      .repair = {},
      .memory_base = 1 << 20,
      .memory_factor = 4096};
}

}  // namespace smelt

// Checks that a dataset's README.md selects only files of the dataset, and that a path that is
// accepted is safe and is parsed the same after printing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> files{"a/1.txt", "a/train.txt", "b.txt", "c.csv"};
  try {
    for (const std::string& file : io::dataset_split(files, text, "train"))
      CHECK(std::find(files.begin(), files.end(), file) != files.end(), file);
  } catch (const UsageError&) {
  }
  try {
    const io::HubPath path = io::parse_hub_path("hf://" + text);
    CHECK(io::is_repo_id(path.repo.id), path.repo.id);
    CHECK(path.path.empty() || io::is_safe_path(path.path), path.path);
    const io::HubPath again = io::parse_hub_path(path.text());
    CHECK(again.path == path.path && again.repo == path.repo && again.revision == path.revision,
          path.text());
  } catch (const UsageError&) {
  }
  return 0;
}
