#include "data/preprocess/electra_original_order.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/preprocess/example_run.h"
#include "data/preprocess/sequential_writer.h"
#include "io/filesystem/archive.h"
#include "io/filesystem/path.h"
#include "text/readers/bad_row_limit.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"

namespace smelt::data {
namespace {

class ElectraReading {
 public:
  ElectraReading(const CheckedJob& checked, const ElectraExamplesJob& job,
                 const text::BertTokenizer& tokenizer, const ElectraBuilder& builder,
                 const ShuffleOptions& options)
      : job_(job),
        tokenizer_(tokenizer),
        builder_(builder),
        files_(checked.inputs),
        random_(job.seed),
        faults_({.strict = job.text.limits.strict}),
        segments_(job.options.seq_length),
        out_(checked.files.outputs.size(), options) {
    std::ranges::sort(
        files_, {}, [](const std::string& path) { return std::tuple(io::path_name(path), path); });
    random_.shuffle(std::span(files_));
  }

  DrawnExamples draw() {
    Progress progress("drawing", std::ssize(files_), "files");
    for (const std::string& file : files_) {
      job_.archives ? read_texts(file) : read_text(file);
      progress.update(static_cast<std::int64_t>(++text_.files));
    }
    faults_.finish();
    text_.dropped_bytes = faults_.dropped_bytes();
    if (text_.documents == 0) throw_no_text(files_.size());
    const std::uint64_t examples = out_.examples();
    return {.examples = {.spill = out_.finish(), .examples = examples, .counts = counts_},
            .text = text_};
  }

 private:
  void read_text(const std::string& file) {
    text::LineReader lines(file);
    while (lines.next(line_)) take_line(file, lines.number());
    end_document();
  }

  void read_texts(const std::string& archive) {
    const auto found = io::read_archive(archive);
    std::vector<decltype(found.begin())> texts;
    for (auto text = found.begin(); text != found.end(); ++text) texts.push_back(text);
    random_.shuffle(std::span(texts));
    for (const auto& text : texts) {
      const std::string place = str(archive, ", ", text->first);
      std::int64_t number = 0;
      for (const std::string_view line : smelt::split(text->second, '\n')) {
        line_ = line;
        take_line(place, ++number);
      }
      end_document();
    }
  }

  void take_line(const std::string& place, std::int64_t number) {
    const bool has_zeros = line_.find('\0') != std::string::npos;
    faults_.clean(line_, place, number);
    std::erase(line_, '\r');  // as TensorFlow's readline does, which the original program uses
    const std::string_view sentence = text::python_strip(line_);
    if (sentence.empty()) {
      // Python's str.strip() keeps NUL bytes, so a line of them is not blank in the original.
      if (job_.options.blanks_separate_docs && !has_zeros) end_document();
      return;
    }
    ids_.clear();
    tokenizer_.encode(sentence, ids_);
    if (ids_.empty()) return;
    in_document_ = true;
    ++text_.sentences;
    text_.tokens += ids_.size();
    add_sentence(sentence, ids_, tokenizer_, text_);
    if (segments_.add(ids_)) put();
  }

  void end_document() {
    if (segments_.has_text()) put();
    if (std::exchange(in_document_, false)) ++text_.documents;
  }

  void put() {
    builder_.pack(segments_.draw(random_), counts_, record_);
    out_.append(record_);
  }

  const ElectraExamplesJob& job_;
  const text::BertTokenizer& tokenizer_;
  const ElectraBuilder& builder_;
  std::vector<std::string> files_;
  PythonRandom random_;
  text::TextFaults faults_;
  SegmentDrawer<PythonRandom> segments_;
  InTurn out_;
  CorpusCounts text_;
  ExampleCounts counts_;
  bool in_document_ = false;
  std::string line_, record_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

ExampleSummary build_electra_in_original_order(const CheckedJob& checked,
                                               const ElectraExamplesJob& job,
                                               const text::BertTokenizer& tokenizer,
                                               const ElectraBuilder& builder) {
  log_files("Reading from input files", checked.inputs);
  return run_examples(checked, builder, name(job.order), [&](const ShuffleOptions& options) {
    return ElectraReading(checked, job, tokenizer, builder, options).draw();
  });
}

}  // namespace smelt::data
