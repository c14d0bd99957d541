#include "data/documents.h"

#include <algorithm>

#include "text/lines.h"
#include "text/unicode.h"

namespace smelt {

struct DocumentReader::State {
  DocumentOptions options;
  std::vector<std::string> files;
  std::size_t file = 0;
  std::unique_ptr<LineReader> lines;
  Utf8Filter utf8{Utf8Filter::Mode::drop};
  DocumentCounts counts;
  std::string line;
};

DocumentReader::DocumentReader(DocumentOptions options) : state_(new State) {
  state_->options = options;
  state_->files = expand_patterns(options.input, "input");
  if (options.strict) state_->utf8 = Utf8Filter(Utf8Filter::Mode::refuse);
}
DocumentReader::~DocumentReader() = default;
bool DocumentReader::next(Document& document) {
  State& s = *state_;
  document.clear();
  for (;;) {
    if (!s.lines) {
      if (s.file == s.files.size()) { s.counts.dropped_bytes = s.utf8.dropped_bytes(); s.utf8.warn(); return false; }
      s.lines = std::make_unique<LineReader>(s.files[s.file++]);
    }
    while (s.lines->next(s.line)) {
      s.utf8.apply(s.line, *s.lines);
      std::erase(s.line, '\r');
      const auto v = python_strip(s.line);
      if (v.empty()) { if (document.size()) return true; }
      else document.add(v);
      if (document.text.size() > kMaxDocumentBytes) return true;
    }
    s.lines.reset();
    if (document.size()) return true;
  }
}
const DocumentCounts& DocumentReader::counts() const { return state_->counts; }
const std::vector<std::string>& DocumentReader::files() const { return state_->files; }
}  // namespace smelt
