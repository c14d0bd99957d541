// Writing documents to key ranges and reading them back in groups.
#include "data/preprocess/document_groups.h"

#include <gmock/gmock.h>

#include "io/filesystem/file.h"
#include "support/paths.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

TEST(DocumentGroups, DivideALongSentenceBetweenWords) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abc ";
  io::write_file(dir.file("a.txt"), text);
  const text::BertTokenizer tokenizer(text::Vocabulary({"[UNK]", "a", "##b", "##c"}), {});
  text::DocumentOptions input;
  input.input = dir.file("a.txt");
  text::DocumentReader reader(input);
  const ScatteredDocuments scattered = scatter_documents(
      reader, tokenizer,
      {.folder = dir.path(), .memory = 256 << 20, .longest_sentence = 40, .sizes = {}},
      [](const CorpusCounts&) {});
  const DocumentGroup group = gather_documents(scattered, {0, scattered.spill.ranges().size()});
  EXPECT_EQ(group.corpus.sentence_count(), 15u);  // of about 20 of the 300 pieces
  EXPECT_EQ(group.corpus.ids().size(), 300u);
  for (std::uint64_t i = 0; i < group.corpus.sentence_count(); ++i)
    EXPECT_EQ(tokenizer.token(group.corpus.ids(group.corpus.tokens(i, i + 1)).front()), "a") << i;
}

}  // namespace
}  // namespace smelt::data
