#include "text/tokenizers/word_runs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <queue>

#include "base/error.h"

namespace smelt::text {
namespace {

constexpr std::size_t kRunBuffer = 64 << 10;

// The header of a word in a run. The bytes of the word follow it.
struct RunHead {
  std::uint32_t length = 0;
  std::int64_t count = 0;
};

io::Descriptor make_unnamed_file() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  std::string path = (error ? std::filesystem::path("/tmp") : folder) / "smelt-words-XXXXXX";
  io::Descriptor file(::mkstemp(path.data()));
  if (!file.is_open()) throw_errno("make", path, errno);
  ::unlink(path.c_str());
  return file;
}

void write_at(const io::Descriptor& file, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_errno("write", "temporary file of words (TMPDIR names its folder)", errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    at += static_cast<std::uint64_t>(done);
  }
}

}  // namespace

void WordRuns::add(const std::vector<Count>& sorted) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) file_ = make_unnamed_file();
  std::uint64_t end = runs_.empty() ? 0 : runs_.back().end;
  const std::uint64_t begin = end;
  std::string bytes;
  const auto flush = [&] {
    write_at(file_, bytes, end);
    end += bytes.size();
    bytes.clear();
  };
  for (const auto& [word, count] : sorted) {
    const RunHead head{.length = static_cast<std::uint32_t>(word.size()), .count = count};
    bytes.append(reinterpret_cast<const char*>(&head), sizeof head) += word;
    if (bytes.size() >= kRunBuffer) flush();
  }
  flush();
  runs_.push_back({.begin = begin, .end = end});
}

class WordRuns::Reader {
 public:
  Reader(const io::Descriptor& file, Run run) : file_(&file), at_(run.begin), end_(run.end) {}

  // Reads the next word; returns false at the end of the run.
  bool next() {
    rest_.remove_prefix(word_.size());
    if (rest_.empty() && at_ == end_) return false;
    RunHead head;
    need(sizeof head);
    std::memcpy(&head, rest_.data(), sizeof head);
    rest_.remove_prefix(sizeof head);
    need(head.length);
    word_ = rest_.substr(0, head.length);
    count_ = head.count;
    return true;
  }
  std::string_view word() const { return word_; }
  std::int64_t count() const { return count_; }

 private:
  // Makes sure that rest_ has at least `bytes` bytes.
  void need(std::size_t bytes) {
    if (rest_.size() >= bytes) return;
    std::string buffer(rest_);
    const std::size_t kept = buffer.size();
    buffer.resize(static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max(bytes, kRunBuffer), kept + (end_ - at_))));
    for (std::size_t done = kept; done < buffer.size();) {
      const ssize_t read = ::pread(file_->get(), buffer.data() + done, buffer.size() - done,
                                   static_cast<off_t>(at_));
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) throw_errno("read", "temporary file of words", read < 0 ? errno : EIO);
      done += static_cast<std::size_t>(read);
      at_ += static_cast<std::uint64_t>(read);
    }
    buffer_ = std::move(buffer);
    rest_ = buffer_;
  }

  const io::Descriptor* file_;
  std::uint64_t at_, end_;
  std::string buffer_;
  std::string_view rest_, word_;  // views into buffer_: rest_ begins with word_
  std::int64_t count_ = 0;
};

void WordRuns::merge(const Visit& visit) const {
  std::vector<Reader> readers;
  readers.reserve(runs_.size());
  const auto later = [&](std::size_t a, std::size_t b) {
    return readers[a].word() > readers[b].word();
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> first(later);
  for (const Run& run : runs_) {
    readers.emplace_back(file_, run);
    if (readers.back().next()) first.push(readers.size() - 1);
  }
  std::string word;
  while (!first.empty()) {
    word = readers[first.top()].word();
    std::int64_t count = 0;
    while (!first.empty() && readers[first.top()].word() == word) {
      const std::size_t reader = first.top();
      first.pop();
      count += readers[reader].count();
      if (readers[reader].next()) first.push(reader);
    }
    visit(word, count);
  }
}

}  // namespace smelt::text
