#include "text/documents.h"

#include <array>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/file.h"
#include "text/duplicates.h"
#include "text/line_source.h"
#include "text/sentences.h"

namespace smelt {
namespace {

// What ICU reads at once stays bounded, also in a text without empty lines.
constexpr std::size_t kMaxParagraphBytes = 1 << 20;

template <std::size_t N>
void check_choice(std::string_view option, const std::string& value,
                  const std::array<std::string, N>& known) {
  for (const std::string& name : known)
    if (value == name) return;
  throw UsageError(str("input: --", option, " '", value, "' is unknown"),
                   did_you_mean(value, known));
}

void check(const DocumentOptions& o) {
  check_format(o.format);
  check_choice<2>("sentences", o.sentences, {"lines", "prose"});
  check_choice<4>("dedup", o.dedup, {"none", "lines", "exact", "near"});
  if (o.max_lines < 0)
    throw UsageError(str("input: --demo ", o.max_lines, " is less than 0"), "0 takes all lines");
}

}  // namespace

struct DocumentReader::State {
  DocumentOptions options;
  DocumentCounts counts;
  std::vector<std::string> files;
  Utf8Filter utf8;
  std::unique_ptr<LineSource> source;  // of file counts.files - 1
  std::int64_t lines_left = 0;         // until max_lines
  SentenceSplitter splitter;
  ExactDuplicates exact, lines;
  NearDuplicates near;
  std::string line, paragraph;
  std::vector<std::string> sentences;

  bool prose() const { return options.sentences == "prose"; }
  // Reads on until `document` is whole; false at the end of all input.
  bool read(Document& document);
  bool open_next();
  // Each returns whether the document ends here.
  bool take_line(Document& document);
  bool take_prose(Document& document);
  void end_paragraph(Document& document);
  bool is_duplicate(const Document& document);
};

bool DocumentReader::State::open_next() {
  if (counts.files == files.size() || lines_left == 0) return false;
  const std::string& path = files[counts.files++];
  source = open_source(path, options.format, utf8);
  return true;
}

bool DocumentReader::State::read(Document& document) {
  while (source || open_next()) {
    const LineSource::Event event = lines_left == 0 ? LineSource::Event::end : source->next(line);
    const bool is_line = event == LineSource::Event::line;
    if (is_line != source->has_rows() && event != LineSource::Event::end) --lines_left;
    if (is_line) {
      if (prose() ? take_prose(document) : take_line(document)) return true;
      continue;
    }
    end_paragraph(document);
    if (event == LineSource::Event::end) source.reset();
    if (document.size() > 0) return true;
  }
  return false;
}

bool DocumentReader::State::take_line(Document& document) {
  if (line.empty()) return document.size() > 0 && !source->has_rows();
  if (options.dedup == "lines" && lines.seen(line))
    ++counts.duplicate_lines;
  else
    document.add(line);
  return document.text.size() >= kMaxDocumentBytes;
}

bool DocumentReader::State::take_prose(Document& document) {
  if (!line.empty()) {
    if (!paragraph.empty()) paragraph += ' ';
    paragraph += line;
    if (paragraph.size() < kMaxParagraphBytes) return false;
  }
  end_paragraph(document);
  if (document.text.size() >= kMaxDocumentBytes) return true;
  return document.size() >= kProseSentences && !source->has_rows();
}

void DocumentReader::State::end_paragraph(Document& document) {
  if (paragraph.empty()) return;
  if (options.dedup == "lines" && lines.seen(paragraph)) {
    ++counts.duplicate_lines;
  } else {
    sentences.clear();
    splitter.split(paragraph, sentences);
    for (const std::string& sentence : sentences) document.add(sentence);
  }
  paragraph.clear();
}

bool DocumentReader::State::is_duplicate(const Document& document) {
  if (options.dedup != "exact" && options.dedup != "near") return false;
  // Sentences stand without anything between them; a space keeps their words apart.
  line.clear();
  for (std::size_t i = 0; i < document.size(); ++i) (line += document.sentence(i)) += ' ';
  return options.dedup == "exact" ? exact.seen(line) : near.seen(line);
}

DocumentReader::DocumentReader(DocumentOptions options) {
  check(options);
  state_.reset(new State{
      .options = options,
      .counts = {},
      .files = expand_patterns(options.input, "input"),
      .utf8 = Utf8Filter(options.strict ? Utf8Filter::Mode::refuse : Utf8Filter::Mode::drop),
      .source = nullptr,
      .lines_left = options.max_lines > 0 ? options.max_lines : -1,
      .splitter = {},
      .exact = {},
      .lines = {},
      .near = {},
      .line = {},
      .paragraph = {},
      .sentences = {}});
}

DocumentReader::~DocumentReader() = default;

bool DocumentReader::next(Document& document) {
  State& s = *state_;
  for (document.clear(); s.read(document); document.clear()) {
    if (s.is_duplicate(document)) {
      ++s.counts.duplicate_documents;
      continue;
    }
    ++s.counts.documents;
    s.counts.sentences += document.size();
    s.counts.bytes += document.text.size();
    return true;
  }
  if (s.counts.dropped_bytes == 0) s.utf8.warn();
  s.counts.dropped_bytes = static_cast<std::uint64_t>(s.utf8.dropped_bytes());
  return false;
}

const DocumentCounts& DocumentReader::counts() const { return state_->counts; }
const std::vector<std::string>& DocumentReader::files() const { return state_->files; }

}  // namespace smelt
