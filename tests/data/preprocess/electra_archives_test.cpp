// A folder read as archives gives other text than when read as files, so an interrupted run of one
// must not be resumed as the other.
#include <gtest/gtest.h>

#include "base/json.h"
#include "data/preprocess/electra_examples.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

TEST(ElectraArchives, DescriptionRecordsTheArchiveFormat) {
  const CapturedLog log;
  const TempDir dir;
  io::write_file(dir.file("corpus/a.txt"),
                 io::read_file(source_path("tests/golden/pretraining/english.txt")));
  ElectraExamplesJob job;
  job.vocab = source_path("tests/golden/pretraining/vocab_uncased.txt");
  job.order = ExampleOrder::original;
  for (const bool archives : {true, false}) {
    job.archives = archives;
    job.folder = archives ? source_path("tests/golden/electra/openwebtext") : dir.file("corpus");
    job.output = dir.file(archives ? "archives" : "texts");
    build_electra_examples(job);
    const auto description = Json::parse(io::read_file(job.output + ".json"));
    EXPECT_EQ(description["text"]["format"], archives ? "archives" : "auto");
  }
}

}  // namespace
}  // namespace smelt::data
