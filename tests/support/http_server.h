// An HTTP/1.1 server on the loopback interface. A test defines its responses; the server records
// the requests.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/filesystem/descriptor.h"

namespace smelt {

struct ServedRequest {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case
  int connection = 0;                          // counted from 0
  bool is_old = false;                         // HTTP/1.0: the response ends the connection
};

struct ServedAnswer {
  int status = 200;
  std::string body = {};
  std::vector<std::string> headers = {};  // "Name: value"
  bool hangs_up = false;                  // close the connection instead of responding
  std::chrono::milliseconds late{0};
};

class HttpServer {
 public:
  using Handler = std::function<ServedAnswer(const ServedRequest&)>;
  // The handler runs on the server's thread, for one request at a time.
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  std::string host() const;                          // "127.0.0.1:PORT"
  std::string url(const std::string& target) const;  // "http://127.0.0.1:PORT/target"
  std::vector<ServedRequest> requests() const;       // all requests so far

 private:
  void serve(const std::stop_token& stop);
  bool serve_one(int socket, int connection, std::string& rest, const std::stop_token& stop);

  const Handler handler_;
  io::Descriptor socket_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ServedRequest> requests_;
  std::vector<std::jthread> connections_;
  std::mutex handling_;
  std::jthread thread_;
};

}  // namespace smelt
