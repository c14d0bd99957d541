#include "io/hub/hub_download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/progress.h"

namespace smelt::io {
namespace {

constexpr int kMostFailures = 6;  // in a row without any progress
constexpr int kMostRedirects = 20;
constexpr const char* kSpaceHint =
    "free some space, or set HF_HUB_CACHE to a folder on a larger disk";

// A partial file that grows.
class PartialFile {
 public:
  explicit PartialFile(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw_errno("write", path_, errno);
    struct ::stat status{};
    if (::fstat(fd_, &status) != 0) throw_errno("write", path_, errno);
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~PartialFile() { ::close(fd_); }
  PartialFile(const PartialFile&) = delete;

  std::uint64_t size() const { return size_; }
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const ::ssize_t count =
          ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<::off_t>(size_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(count));
      size_ += static_cast<std::uint64_t>(count);
    }
  }
  void truncate(std::uint64_t size) {
    if (size == size_) return;
    if (::ftruncate(fd_, static_cast<::off_t>(size)) != 0) fail();
    size_ = size;
  }
  void sync() {
    if (::fsync(fd_) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const int error_number = errno;
    if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG)
      throw SystemError(str("hub: ", path_, ": the disk is full"), kSpaceHint);
    throw_errno("write", path_, error_number);
  }

  std::string path_;
  int fd_;
  std::uint64_t size_ = 0;
};

// Returns N of "bytes N-…/…" in a Content-Range header, or nullopt.
std::optional<std::uint64_t> range_begin(std::string_view header) {
  constexpr std::string_view kUnit = "bytes ";
  std::uint64_t begin = 0;
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), begin);
  if (error != std::errc() || end == header.data() + header.size() || *end != '-')
    return std::nullopt;
  return begin;
}

void require_space(const std::string& path, std::uint64_t bytes) {
  struct ::statvfs disk{};
  const std::string folder = std::filesystem::path(path).parent_path();
  if (::statvfs(folder.c_str(), &disk) != 0) return;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * std::uint64_t{disk.f_frsize};
  if (free < bytes)
    throw SystemError(
        str("hub: ", folder, ": the download needs ", bytes_text(static_cast<double>(bytes)),
            ", but the disk has only ", bytes_text(static_cast<double>(free)), " left"),
        kSpaceHint);
}

// One download: attempts until the partial file is complete.
class Download {
 public:
  Download(HubClient& client, const HubPath& path, const HubFile& file, PartialFile& partial)
      : client_(client),
        path_(path),
        file_(file),
        partial_(partial),
        progress_(str("download ", path.path), static_cast<std::int64_t>(file.size),
                  Progress::kBytes, static_cast<std::int64_t>(partial.size())) {}

  void run() {
    if (partial_.size() > file_.size) partial_.truncate(0);
    for (int failures = 0; partial_.size() < file_.size;) {
      const std::uint64_t before = partial_.size();
      std::string fault;
      try {
        fault = attempt();
      } catch (const SystemError& error) {
        if (disk_failed_ || is_refused_) throw;
        fault = error_parts(error.what()).what;
      }
      failures = partial_.size() > before ? 0 : failures + 1;
      if (partial_.size() >= file_.size) break;
      if (failures >= kMostFailures)
        throw SystemError(str("hub: ", path_.text(), ": ", fault, " (", failures, " attempts)"),
                          "run the command again: it continues the download");
      if (failures > 0) client_.pause(std::chrono::milliseconds(1000 << std::min(failures - 1, 3)));
    }
  }

 private:
  // Requests the rest of the file once. Returns what went wrong if that may pass.
  std::string attempt() {
    std::string url =
        client_.url(str(path_.repo.url_path(), "/resolve/", percent_encoded(path_.revision), "/",
                        encoded_path(path_.path)));
    for (int hops = 0; hops <= kMostRedirects; ++hops) {
      const HttpAnswer answer = client_.send(request(url));
      const Url at = parse_url(url, "hub");
      if (answer.status >= 300 && answer.status < 400 && !answer.header("location").empty()) {
        const Url next = resolve_url(at, answer.header("location"));
        if (at.scheme == "https" && next.scheme != "https")
          return str(at.shown(), ": redirects to plain http");
        url = next.text();
        continue;
      }
      return outcome(answer, at);
    }
    return str("more than ", kMostRedirects, " redirects");
  }

  HttpRequest request(const std::string& url) {
    HttpRequest out{.url = url, .headers = {{"Accept-Encoding", "identity"}}};
    out.follows_redirects = false;
    if (partial_.size() > 0) out.headers.emplace_back("Range", str("bytes=", partial_.size(), "-"));
    is_first_ = true;
    out.receive = [this](const HttpAnswer& head, std::string_view piece) { take(head, piece); };
    return out;
  }

  void take(const HttpAnswer& head, std::string_view piece) {
    if (is_first_) begin(head);
    is_first_ = false;
    disk_failed_ = true;  // until the write has succeeded
    // A body with more bytes than the file cannot be right; the checksum will show it.
    partial_.add(piece.substr(0, file_.size + 1 - std::min(partial_.size(), file_.size + 1)));
    disk_failed_ = false;
    progress_.update(static_cast<std::int64_t>(partial_.size()));
  }

  // Positions the partial file for the body that follows.
  void begin(const HttpAnswer& head) {
    const auto start = head.status == 206 ? range_begin(head.header("content-range")) : 0;
    if (!start || (*start != partial_.size() && *start != 0)) {
      partial_.truncate(0);
      throw SystemError("the response has another range than requested");
    }
    partial_.truncate(*start);
  }

  std::string outcome(const HttpAnswer& answer, const Url& at) {
    if (answer.status == 200 || answer.status == 206)
      return partial_.size() < file_.size ? "the response was shorter than the file" : "";
    if (answer.status == 416) {
      partial_.truncate(0);
      return "the Hub refused the range";
    }
    const bool by_hub = at.same_server(client_.settings().endpoint);
    is_refused_ = by_hub;
    if (by_hub) client_.throw_refusal(answer, path_);  // send() has retried it
    return str(at.scheme, "://", at.host, ": HTTP status ", answer.status,
               answer.status == 403 ? ", the link has expired" : "");
  }

  HubClient& client_;
  const HubPath& path_;
  const HubFile& file_;
  PartialFile& partial_;
  Progress progress_;
  bool is_first_ = true, disk_failed_ = false, is_refused_ = false;
};

}  // namespace

void download_blob(HubClient& client, const HubCache& cache, const HubPath& path,
                   const HubFile& file) {
  if (cache.has_blob(file.digest, file.size)) return;
  cache.make();
  const Clock::time_point start = Clock::now();
  const auto lock = cache.lock_blob(file.digest);
  if (cache.has_blob(file.digest, file.size)) return;  // another process has downloaded it
  const std::string blob = cache.blob(file.digest),
                    own = lock ? "" : str(".", hex(std::random_device{}(), 8)),
                    name = str(blob, own, ".smelt.incomplete");
  HubDigest found;
  for (int tries = 0; tries < 2; ++tries) {
    {
      PartialFile partial(name);
      require_space(name, file.size - std::min(partial.size(), file.size));
      Download(client, path, file, partial).run();
      partial.sync();
    }
    found = digest_of_file(name, file.digest.is_sha256);
    if (found == file.digest && std::filesystem::file_size(name) == file.size) {
      if (std::rename(name.c_str(), blob.c_str()) != 0) throw_errno("write", blob, errno);
      log_info("hub: downloaded {} ({}, {:.1f} s)", path.text(),
               bytes_text(static_cast<double>(file.size)),
               std::chrono::duration<double>(Clock::now() - start).count());
      return;
    }
    std::remove(name.c_str());
    log_warning("hub: {}: wrong checksum; downloading the file again", path.text());
  }
  throw SystemError(str("hub: ", path.text(), ": wrong checksum: found ", found.hex, ", expected ",
                        file.digest.hex),
                    "check the network's proxy and HF_ENDPOINT, then run the command again");
}

}  // namespace smelt::io
