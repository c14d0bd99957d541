#include "text/readers/line_source.h"

#include "base/number_format.h"
#include "io/filesystem/folder.h"

namespace smelt::text {

LineSource::LineSource(std::vector<std::string> files, const TextFormat& format,
                       const TextLimits& limits, int threads)
    : files_(std::move(files)), format_(format), faults_(limits), threads_(threads) {
  for (const std::string& file : files_) (void)format_of(file, format_.file);
}

// Loads the next batch into batch_. Begins the next file if no file is open. Returns false if no
// file is left.
bool LineSource::take_batch() {
  if (!in_file_) {
    if (opened_ == files_.size()) return false;
    in_file_ = true;
    ++opened_;
  }
  if (!ahead_)
    ahead_ = std::make_unique<FilePrefetcher>(
        files_,
        [this](const std::string& path, const FilePrefetcher::Put& put) {
          read_line_batches(path, format_, put);
        },
        threads_);
  batch_begin_ = batch_.bytes_read;
  batch_ = ahead_->next();
  was_truncated_ = was_truncated_ || batch_.truncated;
  item_ = fault_ = 0;
  return true;
}

LineSource::Event LineSource::end_file() {
  if (batch_.failure) std::rethrow_exception(batch_.failure);
  bytes_before_ += std::exchange(batch_.bytes_read, 0);
  batch_begin_ = 0;
  in_file_ = false;
  return Event::file_end;
}

LineSource::Event LineSource::next(std::string& line) {
  for (;;) {
    for (; fault_ < batch_.faults.size() && batch_.faults[fault_].item == item_; ++fault_)
      faults_.add(batch_.faults[fault_].fault, files_[opened_ - 1]);
    if (item_ < batch_.items.size()) break;
    if (in_file_ && batch_.last) return end_file();
    if (!take_batch()) return Event::end;
  }
  const std::size_t begin = item_ == 0 ? 0 : batch_.items[item_ - 1].end;
  const LineBatch::Item& item = batch_.items[item_++];
  if (item.ends_row) {
    faults_.add_good_row();
    return Event::row_end;
  }
  line.assign(batch_.text, begin, item.end - begin);
  return Event::line;
}

double LineSource::share_read() const {
  const std::uint64_t total = total_bytes();
  if (total == 0 || (opened_ == files_.size() && batch_.last && item_ == batch_.items.size()))
    return 1;
  const double bytes = static_cast<double>(batch_.bytes_read - batch_begin_);
  const double read = bytes * share(item_, batch_.items.size());
  return (static_cast<double>(bytes_before_ + batch_begin_) + read) / static_cast<double>(total);
}

std::uint64_t LineSource::total_bytes() const { return io::total_size(files_); }

}  // namespace smelt::text
