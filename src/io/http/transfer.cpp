#include "io/http/transfer.h"

#include <algorithm>
#include <cstdlib>
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
  HttpAnswer answer;
  std::size_t header_bytes = 0, most_bytes = 0;
  bool too_large = false;
  char fault[CURL_ERROR_SIZE] = {};
};

std::size_t take_body(const char* bytes, std::size_t, std::size_t count, void* to) {
  auto& sink = *static_cast<Sink*>(to);
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

void set_limits(CURL* easy, const Url& url, const HttpOptions& options) {
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.to_connect.count()));
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options.to_answer.count()));
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
  Sink sink;
  sink.most_bytes = options.most_bytes;
  set(easy.get(), CURLOPT_URL, url.text().c_str());
  set(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  set(easy.get(), CURLOPT_USERAGENT, "smelt");
  set_method(easy.get(), request);
  set_limits(easy.get(), url, options);
  set_sink(easy.get(), sink);
  if (repeat == Repeat::unsafe) set(easy.get(), CURLOPT_FRESH_CONNECT, 1L);
  Transfer done;
  done.code = perform(multi, easy.get(), stopped);
  done.answer = std::move(sink.answer);
  read_facts(easy.get(), done);
  if (done.code != CURLE_OK)
    done.fault = sink.fault[0] != '\0' ? sink.fault : ::curl_easy_strerror(done.code);
  if (sink.too_large) done.fault = str("the response has more than ", options.most_bytes, " bytes");
  return done;
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
