// Records of labelled texts: their contents, the held-out part, and errors.
#include "data/preprocess/labelled_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "data/input_pipeline/example_source.h"
#include "data/preprocess/text_to_text_examples.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LabelledExamples : public testing::Test {
 protected:
  void SetUp() override {
    io::write_file(dir_.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n");
  }
  std::string file(const char* name, const std::string& content) const {
    io::write_file(dir_.file(name), content);
    return dir_.file(name);
  }
  LabelledExamplesJob job(const std::string& input) const {
    LabelledExamplesJob job;
    job.rows.input = input;
    job.labels.names = {"no", "yes"};
    job.vocab = dir_.file("vocab.txt");
    job.seq_length = 6;
    job.output = dir_.file("out.tfrecord");
    return job;
  }
  std::vector<std::int32_t> values(const io::Features& features, std::size_t rows) const {
    const auto source = open_examples({.input = dir_.file("out.tfrecord"), .features = features});
    EXPECT_EQ(source->size(), rows);
    const Batch batch = source->examples_in_order(0, rows);
    const auto all = batch.arrays.front().values<std::int32_t>();
    return {all.begin(), all.end()};
  }
  static io::Features feature(const char* name, std::int64_t length) {
    return {{.name = name,
             .row = length == 0 ? compiler::Dims{} : compiler::Dims{length},
             .limit = 99}};
  }

  TempDir dir_;
};

TEST_F(LabelledExamples, MergeLabelsThatDifferOnlyInUnicodeNormalization) {
  const std::string composed = "caf\u00E9", decomposed = "cafe\u0301";
  LabelledFiles files;
  files.input = file(
      "r.tsv", "text\tlabel\n" + decomposed + "\t" + decomposed + "\nb\t" + composed + "\nc\tno\n");
  const CapturedLog log;
  const auto counts = count_labels(files, io::Problem::single_label, "data.train");
  EXPECT_THAT(counts, ElementsAre(std::pair{composed, 2u}, std::pair{std::string("no"), 1u}));
  LabelledRows rows(files, "data.train");
  LabelledRow row;
  ASSERT_TRUE(rows.next(row));
  EXPECT_EQ(row.text, composed);
  while (rows.next(row)) continue;
  EXPECT_THAT(log.text(), HasSubstr("1 label occurs in NFC and in NFD; both spellings count as "
                                    "one label: " +
                                    composed));
  LabelReader reader({.problem = io::Problem::single_label, .names = {decomposed, "no"}});
  EXPECT_THAT(reader.classes(composed, "here"), ElementsAre(0));
}

TEST_F(LabelledExamples, RejectsRowsInAnotherEncoding) {
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 40; ++i) rows += i % 2 == 0 ? "caf\xE9\t\xE0\n" : "th\xE9\t\xE9\n";
  LabelledFiles files;
  files.input = file("latin1.tsv", rows);
  EXPECT_THAT(
      error_of<UsageError>([&] { count_labels(files, io::Problem::single_label, "data.train"); }),
      HasSubstr("the file is not UTF-8"));
}

TEST_F(LabelledExamples, KeepClassIdsAfterALabelListedInTwoUnicodeForms) {
  const LabelReader reader(
      {.problem = io::Problem::single_label, .names = {"caf\u00E9", "cafe\u0301", "no"}});
  EXPECT_THAT(reader.classes("caf\u00E9", "here"), ElementsAre(0));
  EXPECT_THAT(reader.classes("no", "here"), ElementsAre(2));
}

TEST_F(LabelledExamples, FeaturesMatchTheOriginal) {
  auto rows = job(file("r.csv", "label,text,other\nyes,a b,c\nno,c c c c c c c,a\n"));
  rows.rows.pair = "other";
  const LabelledSummary s = write_labelled_examples(rows);
  EXPECT_EQ(s.examples, 2u);
  EXPECT_EQ(s.cut, 1u);
  EXPECT_THAT(s.of_class, ElementsAre(1, 1));
  EXPECT_THAT(values(feature("input_ids", 6), 2), ElementsAre(2, 5, 6, 3, 7, 3, 2, 7, 7, 3, 5, 3));
  EXPECT_THAT(values(feature("segment_ids", 6), 2),
              ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1));
  EXPECT_THAT(values(feature("label_ids", 0), 2), ElementsAre(1, 0));
  EXPECT_THAT(values(feature("is_real_example", 0), 2), ElementsAre(1, 1));
}

TEST_F(LabelledExamples, WritesPairsInBothOrders) {
  auto rows = job(file("r.tsv", "text\tpair\tlabel\na\tb\tyes\na\t \tno\nb\tc c\tno\n"));
  rows.rows.pair = "pair";
  rows.both_orders = true;
  const LabelledSummary s = write_labelled_examples(rows);
  EXPECT_EQ(s.examples, 5u);
  EXPECT_THAT(s.of_class, ElementsAre(3, 2));
  EXPECT_THAT(values(feature("input_ids", 6), 5),
              ElementsAre(2, 5, 3, 6, 3, 0, 2, 5, 3, 0, 0, 0, 2, 6, 3, 7, 7, 3,  //
                          2, 6, 3, 5, 3, 0, 2, 7, 7, 3, 6, 3));
  EXPECT_THAT(values(feature("label_ids", 0), 5), ElementsAre(1, 0, 0, 1, 0));
}

// Held-out pairs are not trained on in swapped order either.
TEST_F(LabelledExamples, BothOrdersOfAPairAreInTheSameSplit) {
  std::string rows = "text\tpair\tlabel\n";
  for (int i = 0; i < 40; ++i) rows += str("a\tb\t", i % 2 == 0 ? "yes" : "no", "\n");
  auto of = job(file("r.tsv", rows));
  of.rows.pair = "pair";
  of.both_orders = true;
  of.split = RowSplit{.heldout = 0.25};
  EXPECT_THAT(write_labelled_examples(of).of_class, ElementsAre(30, 30));
}

TEST_F(LabelledExamples, EveryRowIsInExactlyOneSplit) {
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 5000; ++i) rows += str("a b c\t", i % 5 == 0 ? "yes" : "no", "\n");
  auto of = job(file("r.tsv", rows));
  of.split = RowSplit{.heldout = 0.25};
  const auto train = write_labelled_examples(of);
  of.split->part = RowSplit::Part::heldout;
  const auto held = write_labelled_examples(of);
  EXPECT_THAT(train.of_class, ElementsAre(3000, 750));
  EXPECT_THAT(held.of_class, ElementsAre(1000, 250));
}

TEST_F(LabelledExamples, ClassWithASingleRowIsInTheTrainingSplit) {
  const auto held = heldout_rows({0, 1, 1, 2, 0, 0}, {.heldout = 0.1});
  EXPECT_FALSE(held[3]);
  EXPECT_EQ(std::ranges::count(held, true), 2);  // one of each other class
  EXPECT_NE(heldout_rows(std::vector<std::int32_t>(50, 0), {.seed = 1}),
            heldout_rows(std::vector<std::int32_t>(50, 0), {.seed = 2}));
}

TEST_F(LabelledExamples, CountsLabelsAndReportsInvalidOnes) {
  const auto counted = [&](const std::string& path,
                           io::Problem problem = io::Problem::single_label) {
    return count_labels({.input = path}, problem, "data.train");
  };
  EXPECT_EQ(counted(file("a.tsv", "text\tlabel\na\tx\nb\ty\na\tx\n")),
            (std::map<std::string, std::uint64_t>{{"x", 2}, {"y", 1}}));
  EXPECT_EQ(counted(file("m.tsv", "text\tlabel\na\tx, y\nb\t\nc\ty\n"), io::Problem::multi_label),
            (std::map<std::string, std::uint64_t>{{"x", 1}, {"y", 2}}));
  EXPECT_EQ(counted(file("j.jsonl", R"({"text":"a","label":1})"
                                    "\n"
                                    R"({"text":"b","label":0})")),
            (std::map<std::string, std::uint64_t>{{"0", 1}, {"1", 1}}));
  std::string many = "text\tlabel\n";
  for (int i = 0; i < 30; ++i) many += str("a\tlabel ", i, "\n");
  EXPECT_THAT(error_of<UsageError>([&] { counted(file("n.tsv", many)); }),
              HasSubstr("holds 30 different labels in 30 rows"));
  EXPECT_THAT(error_of<UsageError>([&] { counted(file("e.tsv", "text\tlabel\n")); }),
              HasSubstr("holds no label"));
  std::string pairs = "text\tlabel\n";  // two examples a class
  for (int i = 0; i < 60; ++i) pairs += str("a\tlabel ", i / 2, "\n");
  EXPECT_EQ(counted(file("few.tsv", pairs)).size(), 30u);
  EXPECT_THAT(error_of<UsageError>([&] { counted(file("n.tsv", many)); }),
              HasSubstr("hint: name the column of the classes with data.label, or if it is the "
                        "right one, list all classes in data.labels"));
  const LabelReader reader({.problem = io::Problem::single_label, .names = {"no", "yes"}});
  EXPECT_THAT(error_of<UsageError>([&] { reader.classes("yess", "v.tsv:3"); }),
              HasSubstr("v.tsv:3: label 'yess' is not one of the 2 classes"));
}

TEST_F(LabelledExamples, TruncatedTargetsKeepTheEndToken) {
  TextToTextExamplesJob job;
  job.rows.input = file("t.tsv", "text\tlabel\nabc\tde\nabcdefgh\tabcd\n");
  job.encode = [](std::string_view text) {
    std::vector<std::int32_t> ids(text.begin(), text.end());
    for (auto& id : ids) id -= 'a' - 2;
    ids.push_back(1);
    return ids;
  };
  job.unknown = 5;  // the id of d
  job.keeps_rows = true;
  job.prefix = "c";
  job.inputs_length = 6;
  job.targets_length = 3;
  job.vocab = dir_.file("vocab.txt");
  job.output = dir_.file("out.tfrecord");
  const TextToTextSummary s = write_text_to_text(job);
  EXPECT_EQ(s.cut, 1u);
  EXPECT_EQ(s.cut_targets, 1u);
  EXPECT_EQ(s.unknown, 1u);
  EXPECT_EQ(s.unknown_texts, 1u);
  EXPECT_EQ(s.unknown_targets, 2u);
  EXPECT_THAT(io::read_file(job.output + ".json"), HasSubstr("\"unknown_targets\": 2"));
  EXPECT_EQ(io::read_file(rows_beside(job.output)),
            "{\"text\":\"abc\",\"label\":\"de\"}\n"
            "{\"text\":\"abcdefgh\",\"label\":\"abcd\"}\n");
  EXPECT_THAT(values(feature("inputs", 6), 2), ElementsAre(4, 2, 3, 4, 1, 0, 4, 2, 3, 4, 5, 1));
  EXPECT_THAT(values(feature("targets", 3), 2), ElementsAre(5, 6, 1, 2, 3, 1));
}

TEST_F(LabelledExamples, DoesNotCountTruncatedWords) {
  auto rows = job(file("w.tsv", "text\tlabel\na b c a b c\tno no yes no yes yes\n"));
  rows.labels.problem = io::Problem::token_labels;
  rows.rows.words = true;
  // counts four of the six words
  EXPECT_THAT(write_labelled_examples(rows).of_class, ElementsAre(3, 1));
}

TEST_F(LabelledExamples, SkipsRowsWithoutARequiredLabel) {
  auto rows = job(file("e.tsv", "text\tlabel\na\tno\nb\t\nc\tyes\n"));
  rows.rows.needs_label = true;
  EXPECT_EQ(write_labelled_examples(rows).examples, 2u);
  rows.rows.limits.strict = true;
  EXPECT_THAT(error_of<UsageError>([&] { write_labelled_examples(rows); }),
              HasSubstr("e.tsv:3: the label in 'label' is empty"));
  rows.rows.input = file("n.tsv", "text\tlabel\na\tno\nb\tnan\nc\tNaN\na\tyes\n");
  EXPECT_THAT(error_of<UsageError>([&] { write_labelled_examples(rows); }),
              HasSubstr("n.tsv:3: the label in 'label' is NaN"));
  rows.rows.limits.strict = false;
  EXPECT_EQ(write_labelled_examples(rows).examples, 2u);
}

// Min Nan Chinese, by ISO 639-3.
TEST_F(LabelledExamples, AListedClassMayBeNamedNan) {
  auto rows = job(file("l.tsv", "text\tlabel\na\tnan\nb\thak\nc\tNaN\n"));
  rows.rows.needs_label = true;
  rows.rows.limits.strict = true;
  rows.labels.names = {"nan", "hak"};
  EXPECT_THAT(error_of<UsageError>([&] { write_labelled_examples(rows); }),
              HasSubstr("l.tsv:2: the label in 'label' is NaN\n  hint: remove the row, or if 'nan' "
                        "is a class, list it in data.labels"));
  rows.rows.known = rows.labels.names;
  EXPECT_THAT(error_of<UsageError>([&] { write_labelled_examples(rows); }),
              HasSubstr("l.tsv:4: the label in 'label' is NaN"));
  rows.rows.limits.strict = false;
  EXPECT_THAT(write_labelled_examples(rows).of_class, ElementsAre(1, 1));
}

TEST_F(LabelledExamples, ParsesSignedAndDecimalNumbers) {
  for (const auto& [text, number] : std::map<std::string, double>{
           {"+1.5", 1.5}, {"-1", -1}, {" .5 ", 0.5}, {"3.", 3}, {"1e-3", 1e-3}})
    EXPECT_EQ(label_number(text), number) << text;
  for (const char* text : {"", "+", "+-1", "++1", "nan", "inf", "1,5", "0x10", "1 2"})
    EXPECT_EQ(label_number(text), std::nullopt) << text;
}

TEST_F(LabelledExamples, MultiLabelNamesMayContainCommas) {
  const auto names = [](const std::string& label, const std::vector<std::string>& known = {}) {
    return label_names(io::Problem::multi_label, label, known);
  };
  EXPECT_THAT(names(" a, b ,,c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names(R"(["lions, tigers", "bears", 3])"),
              ElementsAre("lions, tigers", "bears", "3"));
  EXPECT_THAT(names(R"([" a ", "", " "])"), ElementsAre("a"));
  EXPECT_THAT(names("[]"), ElementsAre());
  EXPECT_THAT(names("[a], b"), ElementsAre("[a]", "b"));
  EXPECT_THAT(names("lions, tigers,bears,x,y", {"lions, tigers", "bears", "x,y", "y"}),
              ElementsAre("lions, tigers", "bears", "x,y"));
  EXPECT_THAT(names("y, x", {"x,y", "x", "y"}), ElementsAre("y", "x"));
  for (const std::vector<std::string>& list :
       std::vector<std::vector<std::string>>{{}, {"a", "b"}, {"x,y", "a"}, {"[1]"}, {"[a"}})
    EXPECT_EQ(io::class_names_in(io::class_names_text(list)), list) << io::class_names_text(list);
  EXPECT_EQ(io::class_names_text({"a", "b"}), "a,b");
  EXPECT_EQ(io::class_names_text({"x,y", "a"}), R"(["x,y","a"])");
}

TEST_F(LabelledExamples, ReadsMultiLabelsFromJsonLists) {
  auto rows = job(file("l.jsonl",
                       "{\"text\": \"a\", \"label\": [\"x, y\", \"no\"]}\n"
                       "{\"text\": \"b\", \"label\": []}\n{\"text\": \"c\", \"label\": \"no\"}\n"));
  rows.rows.lists = true;
  rows.labels = {.problem = io::Problem::multi_label, .names = {"no", "x, y"}};
  EXPECT_EQ(count_labels(rows.rows, io::Problem::multi_label, "data.train"),
            (std::map<std::string, std::uint64_t>{{"no", 2}, {"x, y", 1}}));
  EXPECT_EQ(write_labelled_examples(rows).examples, 3u);
  EXPECT_THAT(values(feature("label_ids", 2), 3), ElementsAre(1, 1, 0, 0, 1, 0));
}

}  // namespace
}  // namespace smelt::data
