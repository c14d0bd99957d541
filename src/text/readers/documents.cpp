#include "text/readers/documents.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/choice.h"
#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "text/readers/line_sample.h"
#include "text/readers/line_source.h"
#include "text/readers/sentences.h"
#include "text/readers/unicode.h"

namespace smelt::text {

namespace {

constexpr NamedValues<Cut, 2> kCuts{{{"lines", Cut::lines}, {"prose", Cut::prose}}};
constexpr NamedValues<Dedup, 4> kDedups{{{"none", Dedup::none},
                                         {"lines", Dedup::lines},
                                         {"exact", Dedup::exact},
                                         {"near", Dedup::near}}};

// A longer paragraph is treated as several, to limit memory.
constexpr std::size_t kMaxParagraphBytes = 1 << 20;

// A longer paragraph is split into sentences in parts of this size, and documents may end within
// it, because a book or a whole corpus may be one line.
constexpr std::size_t kPartBytes = std::size_t{16} << 10;

// Returns the end of the first part of a long text: kPartBytes or, if there is one, the last space
// before.
std::size_t part_end(std::string_view text) {
  if (text.size() <= kPartBytes) return text.size();
  const std::size_t space = text.rfind(' ', kPartBytes);
  if (space != std::string_view::npos && space > 0) return space;
  std::size_t end = kPartBytes;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within a UTF-8 character
  return end;
}

std::int64_t parse_max_lines(std::int64_t lines) {
  if (lines < 0)
    throw UsageError(str("input: --max-lines ", lines, " is less than 0"), "use 0 for all lines");
  return lines > 0 ? lines : -1;
}

}  // namespace

Cut parse_sentences(std::string_view word, std::string_view what) {
  return choose_of(what, word, kCuts);
}

Dedup parse_dedup(std::string_view word, std::string_view what) {
  return choose_of(what, word, kDedups);
}

std::string_view name(Cut cut) { return word_of(cut, kCuts); }
std::string_view name(Dedup dedup) { return word_of(dedup, kDedups); }

struct DocumentReader::State {
  explicit State(const DocumentOptions& options)
      : cut(options.sentences),
        dedup(options.dedup),
        blanks_end_documents(options.blanks_end_documents),
        checks_lines(options.checks_lines),
        memory(options.dedup_memory),
        lines_left(parse_max_lines(options.max_lines)),
        source(io::expand_files(options.input, "input"), options.format, options.limits,
               options.threads),
        exact(options.dedup_memory),
        lines(options.dedup_memory),
        near(options.dedup_memory) {}

  const Cut cut;
  const Dedup dedup;
  const bool blanks_end_documents, checks_lines;
  const std::size_t memory;
  std::int64_t lines_left;  // lines left until max_lines; negative: no limit
  LineSource source;
  bool ended = false, warned = false, rest_is_logged = false;
  DocumentCounts counts;
  SentenceSplitter splitter;
  ExactDuplicates exact, lines;
  NearDuplicates near;
  std::string line, paragraph;
  std::string divided;    // a long paragraph that has ended
  std::size_t begin = 0;  // start of its rest, which is not yet split into sentences
  std::vector<std::string> sentences;
  std::size_t taken = 0;  // number of sentences that were added to a document; may be less than
                          // sentences.size() only in a long paragraph
  bool document_ends = false;
  LineSample sample;                           // the first lines of the current file
  std::set<std::string> findings;              // warnings already logged for earlier files
  std::size_t last_line = 0, line_before = 0;  // sizes of the paragraph's last two lines, in bytes

  // Reads lines until `document` is complete; returns false at the end of all input.
  bool read(Document& document);
  // Both add `line` to the document. They return true if the document ends here.
  bool take_line(Document& document);
  bool take_prose(Document& document);
  // Returns whether `line` begins with a script that ends sentences at spaces and the line before
  // it is clearly shorter than its neighbours, so that a sentence or phrase ends there.
  bool last_line_is_short() const;
  // Splits the next part of a long paragraph into sentences. If there are several, the last one is
  // split again with the part after it, because it may continue there.
  void take_part();
  void end_paragraph(Document& document);
  // Returns whether a document of prose ends here.
  bool is_whole(const Document& document) const;
  void look_at_line();
  // Logs a warning if the lines of the current file, which has ended, are not plain text.
  void warn_of_annotations();
  bool is_duplicate(const Document& document);
  void warn_of_forgotten();
  // Logs once, at the end of the input, how many documents were split and how much was not read.
  void log_the_rest();
};

bool DocumentReader::State::read(Document& document) {
  using Event = LineSource::Event;
  for (;;) {
    if (taken < sentences.size()) {
      document.add(sentences[taken++]);
      if (is_whole(document)) return true;
    } else if (begin < divided.size()) {
      take_part();
    } else if (std::exchange(document_ends, false) && document.size() > 0) {
      return true;
    } else if (ended) {
      return false;
    } else {
      const Event event = lines_left == 0 ? Event::end : source.next(line);
      if (event == (source.has_rows() ? Event::row_end : Event::line)) --lines_left;
      if (event == Event::line) {
        look_at_line();
        if (cut == Cut::prose ? take_prose(document) : take_line(document)) return true;
      } else {
        if (event != Event::row_end) warn_of_annotations();
        end_paragraph(document);
        document_ends = true;
        ended = event == Event::end;
      }
    }
  }
}

bool DocumentReader::State::take_line(Document& document) {
  if (line.empty()) return blanks_end_documents && document.size() > 0 && !source.has_rows();
  if (dedup == Dedup::lines && lines.seen(line))
    ++counts.duplicate_lines;
  else
    document.add(line);
  return document.text.size() >= kMaxDocumentBytes;
}

bool DocumentReader::State::take_prose(Document& document) {
  if (!line.empty()) {
    if (!paragraph.empty() && (last_line_is_short() || !joins_without_space(paragraph, line)))
      paragraph += ' ';
    paragraph += line;
    line_before = std::exchange(last_line, line.size());
    if (paragraph.size() < kMaxParagraphBytes) return false;
  }
  end_paragraph(document);
  return is_whole(document);
}

bool DocumentReader::State::is_whole(const Document& document) const {
  if (source.has_rows()) return document.text.size() >= kMaxDocumentBytes;
  return document.size() >= kProseSentences || document.text.size() >= kProseBytes;
}

void DocumentReader::State::take_part() {
  const std::string_view rest = std::string_view(divided).substr(begin);
  const std::string_view part = rest.substr(0, part_end(rest));
  taken = 0;
  sentences.clear();
  splitter.split(part, sentences);
  begin += part.size();
  if (part.size() == rest.size() || sentences.size() < 2) return;
  begin -= part.size() - part.rfind(sentences.back());
  sentences.pop_back();
}

bool DocumentReader::State::last_line_is_short() const {
  constexpr std::size_t kShortNumerator = 3, kShortDenominator = 4;
  return puts_spaces_between_sentences(line) &&
         kShortDenominator * last_line < kShortNumerator * std::max(line_before, line.size());
}

void DocumentReader::State::end_paragraph(Document& document) {
  line_before = last_line = 0;
  if (paragraph.empty()) return;
  if (dedup == Dedup::lines && lines.seen(paragraph)) {
    ++counts.duplicate_lines;
  } else if (paragraph.size() > kPartBytes) {
    std::swap(divided, paragraph);
    begin = 0;
  } else {
    sentences.clear();
    splitter.split(paragraph, sentences);
    taken = sentences.size();
    for (const std::string& sentence : sentences) document.add(sentence);
  }
  paragraph.clear();
}

void DocumentReader::State::look_at_line() {
  if (checks_lines && !source.has_rows() && !sample.is_full()) sample.add(line);
}

void DocumentReader::State::warn_of_annotations() {
  const std::string finding = std::exchange(sample, {}).finding();
  if (!finding.empty() && findings.insert(finding).second)
    log_warning("text: {} {}", source.files()[source.files_opened() - 1], finding);
}

bool DocumentReader::State::is_duplicate(const Document& document) {
  if (dedup != Dedup::exact && dedup != Dedup::near) return false;
  // Sentences are stored without separators. The space keeps their words apart.
  line.clear();
  for (std::size_t i = 0; i < document.size(); ++i) (line += document.sentence(i)) += ' ';
  return dedup == Dedup::exact ? exact.seen(line) : near.seen(line);
}

void DocumentReader::State::warn_of_forgotten() {
  const auto warn = [&](const auto& texts, std::string_view what) {
    if (texts.forgot())
      log_warning(
          "dedup: the {} do not all fit in {} MB of memory; each was compared with at least the "
          "previous {}",
          what, memory >> 20, texts.reach());
  };
  if (std::exchange(warned, true)) return;
  warn(exact, "documents");
  warn(near, "documents");
  warn(lines, cut == Cut::prose ? "paragraphs" : "lines");
}

void DocumentReader::State::log_the_rest() {
  if (std::exchange(rest_is_logged, true)) return;
  if (counts.divided_documents > 0)
    log_info("text: split documents longer than {} MB ({})", kMaxDocumentBytes >> 20,
             counted(counts.divided_documents, "split"));
  if (lines_left != 0) return;
  try {
    const double read = source.share_read();
    if (read < 1) log_info("text: max_lines was reached: {} of the input was read", percent(read));
  } catch (const Error&) {
    // The percentage needs the file sizes, and a file may have been deleted by now.
    log_info("text: max_lines was reached");
  }
}

DocumentReader::DocumentReader(const DocumentOptions& options) : state_(new State(options)) {}

DocumentReader::~DocumentReader() = default;

bool DocumentReader::next(Document& document) {
  State& s = *state_;
  bool found = false;
  for (document.clear(); !found && s.read(document);) {
    s.counts.divided_documents += document.text.size() >= kMaxDocumentBytes ? 1 : 0;
    found = !s.is_duplicate(document);
    if (found) continue;
    ++s.counts.duplicate_documents;
    document.clear();
  }
  s.counts.files = s.source.files_opened();
  if (found) {
    ++s.counts.documents;
    s.counts.sentences += document.size();
    s.counts.bytes += document.text.size();
    return true;
  }
  if (s.source.was_truncated()) return false;
  s.source.faults().finish();
  s.warn_of_forgotten();
  s.log_the_rest();
  s.counts.dropped_bytes = s.source.faults().dropped_bytes();
  s.counts.bad_rows = s.source.faults().bad_rows();
  return false;
}

bool DocumentReader::was_truncated() const { return state_->source.was_truncated(); }

const DocumentCounts& DocumentReader::counts() const { return state_->counts; }
const std::vector<std::string>& DocumentReader::files() const { return state_->source.files(); }
std::uint64_t DocumentReader::bytes_read() const { return state_->source.bytes_read(); }
std::uint64_t DocumentReader::total_bytes() const { return state_->source.total_bytes(); }

}  // namespace smelt::text
