#include "io/http/transfer.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "base/host.h"

namespace smelt::io {
namespace {

constexpr std::size_t kMostHeaderBytes = 256 << 10;
constexpr int kPollMilliseconds = 100;

using EasyHandle = std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<::curl_slist, decltype(&::curl_slist_free_all)>;

// The response so far, filled by libcurl's callbacks.
struct Sink {
  CURL* easy = nullptr;
  const HttpRequest* request = nullptr;
  HttpAnswer answer;
  std::size_t header_bytes = 0, most_bytes = 0;
  bool too_large = false, has_received = false;
  std::exception_ptr thrown = {};  // by HttpRequest::receive
  char fault[CURL_ERROR_SIZE] = {};
};

// Passes a piece of the body to HttpRequest::receive. Returns false if that threw.
bool pass_on(Sink& sink, std::string_view piece) try {
  sink.has_received = true;
  sink.request->receive(sink.answer, piece);
  return true;
} catch (...) {  // must not pass through libcurl; transfer() rethrows it
  sink.thrown = std::current_exception();
  return false;
}

std::size_t take_body(const char* bytes, std::size_t, std::size_t count, void* to) {
  auto& sink = *static_cast<Sink*>(to);
  long status = 0;
  ::curl_easy_getinfo(sink.easy, CURLINFO_RESPONSE_CODE, &status);
  sink.answer.status = static_cast<int>(status);
  if (sink.request->receive && status >= 200 && status < 300)
    return pass_on(sink, {bytes, count}) ? count : 0;
  sink.too_large = sink.answer.body.size() + count > sink.most_bytes;
  if (sink.too_large) return 0;
  sink.answer.body.append(bytes, count);
  return count;
}

std::size_t take_header(const char* bytes, std::size_t, std::size_t count, void* to) {
  auto& sink = *static_cast<Sink*>(to);
  const std::string_view line = trim(std::string_view(bytes, count));
  sink.too_large = (sink.header_bytes += count) > kMostHeaderBytes;
  if (sink.too_large) return 0;
  if (line.starts_with("HTTP/"))
    sink.answer.headers.clear();  // discards those of a preceding status such as 100
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return count;
  std::string& value = sink.answer.headers[lower_case(line.substr(0, colon))];
  value += str(value.empty() ? "" : ", ", trim(line.substr(colon + 1)));
  return count;
}

// An open file whose part is sent as the body of a request.
struct Upload {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, &std::fclose};
  std::uint64_t offset = 0, size = 0, left = 0;
};

std::size_t give_upload(char* bytes, std::size_t, std::size_t most, void* from) {
  auto& upload = *static_cast<Upload*>(from);
  const std::size_t count = std::min<std::uint64_t>(most, upload.left);
  const std::size_t read = std::fread(bytes, 1, count, upload.file.get());
  if (read < count) return CURL_READFUNC_ABORT;  // the file became shorter
  upload.left -= read;
  return read;
}

// Moves to a position of the body, counted from its begin. libcurl sends a body again if the server
// closed a connection that was kept open.
int seek_upload(void* from, curl_off_t position, int origin) {
  auto& upload = *static_cast<Upload*>(from);
  const auto at = static_cast<std::uint64_t>(position);
  if (origin != SEEK_SET || at > upload.size ||
      ::fseeko(upload.file.get(), static_cast<::off_t>(upload.offset + at), SEEK_SET) != 0)
    return CURL_SEEKFUNC_CANTSEEK;
  upload.left = upload.size - at;
  return CURL_SEEKFUNC_OK;
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = ::curl_easy_setopt(easy, option, value);
  CHECK(code == CURLE_OK, "libcurl's option ", static_cast<int>(option), ": ",
        ::curl_easy_strerror(code));
}

HeaderList header_list(const HttpRequest& request) {
  HeaderList list(nullptr, &::curl_slist_free_all);
  const auto add = [&](const std::string& line) {
    ::curl_slist* longer = ::curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    list.release();
    list.reset(longer);
  };
  // Disables "Expect: 100-continue", with which libcurl waits up to a second before it sends a
  // large body.
  add("Expect:");
  for (const auto& [name, value] : request.headers)
    add(value.empty() ? str(name, ";") : str(name, ": ", value));
  if (!request.bearer.empty()) add(str("Authorization: Bearer ", request.bearer.reveal()));
  return list;
}

void set_method(CURL* easy, const HttpRequest& request) {
  if (request.upload) {
    set(easy, CURLOPT_UPLOAD, 1L);
    set(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.upload->size));
    return set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.method == "GET" && request.body.empty()) return;
  if (request.method == "HEAD") return set(easy, CURLOPT_NOBODY, 1L);
  const bool has_body = !request.body.empty() || request.method != "DELETE";
  if (has_body) {
    set(easy, CURLOPT_POST, 1L);
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

// Opens the file part and makes it the body.
void set_upload(CURL* easy, const HttpFilePart& part, Upload& upload) {
  upload.file.reset(std::fopen(part.path.c_str(), "rbe"));
  if (upload.file == nullptr ||
      ::fseeko(upload.file.get(), static_cast<::off_t>(part.offset), SEEK_SET) != 0)
    throw_errno("open", part.path, errno);
  upload.offset = part.offset;
  upload.size = upload.left = part.size;
  set(easy, CURLOPT_SEEKFUNCTION, &seek_upload);
  set(easy, CURLOPT_SEEKDATA, &upload);
  set(easy, CURLOPT_READFUNCTION, &give_upload);
  set(easy, CURLOPT_READDATA, &upload);
}

void set_time_limits(CURL* easy, const HttpRequest& request, const HttpOptions& options) {
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.to_connect.count()));
  if (!request.receive && !request.upload)
    return set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options.to_answer.count()));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.to_answer);
  set(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(seconds.count()));
}

void set_limits(CURL* easy, const Url& url) {
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // Plain http is only used for this machine and for servers in the local network, which a proxy
  // cannot reach.
  if (url.scheme == "http") set(easy, CURLOPT_PROXY, "");
  // OpenSSL reads SSL_CERT_FILE, but libcurl ignores it.
  if (const char* certificates = std::getenv("SSL_CERT_FILE");
      certificates != nullptr && *certificates != '\0')
    set(easy, CURLOPT_CAINFO, certificates);
}

void set_sink(CURL* easy, Sink& sink) {
  set(easy, CURLOPT_ERRORBUFFER, sink.fault);
  set(easy, CURLOPT_WRITEFUNCTION, &take_body);
  set(easy, CURLOPT_WRITEDATA, &sink);
  set(easy, CURLOPT_HEADERFUNCTION, &take_header);
  set(easy, CURLOPT_HEADERDATA, &sink);
}

CURLcode perform(CURLM* multi, CURL* easy, const std::function<bool()>& stopped) {
  CHECK(::curl_multi_add_handle(multi, easy) == CURLM_OK);
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  for (int running = 1; !stopped();) {
    CHECK(::curl_multi_perform(multi, &running) == CURLM_OK);
    if (running == 0) {
      int left = 0;
      const ::CURLMsg* message = ::curl_multi_info_read(multi, &left);
      CHECK(message != nullptr && message->msg == CURLMSG_DONE);
      code = message->data.result;
      break;
    }
    ::curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
  }
  ::curl_multi_remove_handle(multi, easy);
  return code;
}

void read_facts(CURL* easy, Transfer& done) {
  long status = 0;
  curl_off_t before_sending = 0, retry_after = 0;
  ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  ::curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &before_sending);
  ::curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
  done.answer.status = static_cast<int>(status);
  done.reached = before_sending > 0 || status != 0;
  done.retry_after = std::chrono::seconds(std::max<curl_off_t>(retry_after, 0));
  if (const auto wait = rate_limit_wait(done.answer.header("ratelimit"));
      status == 429 && wait.count() > 0)
    done.retry_after = wait;
}

}  // namespace

MultiHandle new_multi() {
  static std::once_flag once;
  std::call_once(once, [] { CHECK(::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
  MultiHandle multi(::curl_multi_init(), &::curl_multi_cleanup);
  if (multi == nullptr) throw std::bad_alloc();
  return multi;
}

Transfer transfer(CURLM* multi, const HttpRequest& request, const Url& url,
                  const HttpOptions& options, Repeat repeat, const std::function<bool()>& stopped) {
  const EasyHandle easy(::curl_easy_init(), &::curl_easy_cleanup);
  if (easy == nullptr) throw std::bad_alloc();
  const HeaderList headers = header_list(request);
  Upload upload;
  Sink sink;
  sink.easy = easy.get();
  sink.request = &request;
  sink.most_bytes = options.most_bytes;
  set(easy.get(), CURLOPT_URL, url.text().c_str());
  set(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  set(easy.get(), CURLOPT_USERAGENT, "smelt");
  set_method(easy.get(), request);
  if (request.upload) set_upload(easy.get(), *request.upload, upload);
  set_limits(easy.get(), url);
  set_time_limits(easy.get(), request, options);
  set_sink(easy.get(), sink);
  if (repeat == Repeat::unsafe) set(easy.get(), CURLOPT_FRESH_CONNECT, 1L);
  Transfer done;
  done.code = perform(multi, easy.get(), stopped);
  if (sink.thrown) std::rethrow_exception(sink.thrown);
  done.has_received = sink.has_received;
  done.answer = std::move(sink.answer);
  read_facts(easy.get(), done);
  if (done.code != CURLE_OK)
    done.fault = sink.fault[0] != '\0' ? sink.fault : ::curl_easy_strerror(done.code);
  if (sink.too_large) done.fault = str("the response has more than ", options.most_bytes, " bytes");
  return done;
}

std::chrono::seconds rate_limit_wait(std::string_view header) {
  std::chrono::seconds longest{0};
  for (const std::string_view quota : split(header, ',')) {
    long long remaining = -1, seconds = -1;
    for (const std::string_view part : split(quota, ';')) {
      const std::string_view field = trim(part);
      if (field.size() < 3 || field[1] != '=' || (field[0] != 'r' && field[0] != 't')) continue;
      long long& value = field[0] == 'r' ? remaining : seconds;
      std::from_chars(field.data() + 2, field.data() + field.size(), value);
    }
    if (remaining == 0 && seconds >= 0 && seconds < 86'400)
      longest = std::max(longest, std::chrono::seconds(seconds + 1));
  }
  return longest;
}

bool is_passing_fault(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

std::string_view hint_of_fault(CURLcode code) {
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
    return "install the package ca-certificates, or name the file of your certificates in "
           "SSL_CERT_FILE";
  if (is_passing_fault(code)) return "check the network, then run the command again";
  return {};
}

}  // namespace smelt::io
