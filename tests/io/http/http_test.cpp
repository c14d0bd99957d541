#include "io/http/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "base/clock.h"
#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/http/transfer.h"
#include "support/captured_log.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/http_server.h"
#include "support/paths.h"
#include "support/server_process.h"

namespace smelt::io {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Sends these responses in turn; repeats the last one.
HttpServer::Handler in_turn(std::deque<ServedAnswer> answers) {
  return [answers = std::move(answers)](const ServedRequest&) mutable {
    ServedAnswer next = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return next;
  };
}

class HttpTest : public testing::Test {
 protected:
  HttpOptions options() {
    HttpOptions options;
    options.wait = [this](milliseconds time) { waits_.push_back(time); };
    return options;
  }
  HttpAnswer send(const HttpRequest& request) { return HttpClient(options()).send(request); }
  int waited() const { return static_cast<int>(waits_.size()); }

  std::vector<milliseconds> waits_;
};

TEST_F(HttpTest, TransfersRequestAndResponseUnchanged) {
  const HttpServer server(in_turn({{201, "made", {"X-Name: value", "X-NAME: more"}}}));
  const HttpAnswer answer = send({.method = "POST",
                                  .url = server.url("a/b?c=d"),
                                  .headers = {{"Content-Type", "application/json"}},
                                  .bearer = Secret("token"),
                                  .body = "{}"});
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "made");
  EXPECT_EQ(answer.header("x-name"), "value, more");
  EXPECT_EQ(answer.header("x-other"), "");
  const ServedRequest request = server.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a/b?c=d");
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer token");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
}

TEST_F(HttpTest, SendsEachMethod) {
  const HttpServer server(in_turn({{200, "body"}}));
  for (const char* method : {"GET", "HEAD", "DELETE", "PUT", "PATCH", "POST"}) {
    const HttpAnswer answer = send({.method = method, .url = server.url("x")});
    EXPECT_EQ(answer.body, std::string(method) == "HEAD" ? "" : "body");
    EXPECT_EQ(server.requests().back().method, method);
  }
}

TEST_F(HttpTest, RetriesTemporaryErrorsWithBackoff) {
  const HttpServer server(in_turn({{.hangs_up = true},
                                   {.status = 408},
                                   {.status = 429},
                                   {.status = 500},
                                   {.status = 502},
                                   {.status = 503},
                                   {.status = 504},
                                   {200, "at last"}}));
  EXPECT_EQ(send({.url = server.url("")}).body, "at last");
  ASSERT_EQ(waited(), 7);
  for (int i = 0; i < 7; ++i) {
    EXPECT_GE(waits_[i], milliseconds(std::min(1000 << i, 64'000)));
    EXPECT_LE(waits_[i], milliseconds(std::min((1000 << i) + 1000, 64'000)));
  }
}

TEST_F(HttpTest, LogsALongRetryOnce) {
  const HttpServer server(in_turn({{503}}));
  const CapturedLog log;
  HttpOptions few = options();
  few.retry.tries = 2;
  EXPECT_EQ(HttpClient(few).send({.url = server.url("")}).status, 503);
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(send({.url = server.url("a?secret")}).status, 503);
  EXPECT_THAT(log.text(),
              HasSubstr(server.url("a") + ": HTTP status 503; retrying for at most 600 s"));
  EXPECT_EQ(log.text().find("HTTP status"), log.text().rfind("HTTP status"));
}

TEST_F(HttpTest, PassesTheBodyToAReceiver) {
  const HttpServer server(in_turn({{503, "later"}, {206, "the body"}, {404, "none"}}));
  std::string got;
  HttpRequest request{.url = server.url("")};
  request.receive = [&](const HttpAnswer& head, std::string_view piece) {
    got += str(head.status, " ", head.header("content-length"), " ", piece);
  };
  EXPECT_EQ(send(request).body, "");
  EXPECT_EQ(got, "206 8 the body");
  EXPECT_EQ(send(request).body, "none") << "an error's body is not passed on";
  EXPECT_EQ(got, "206 8 the body");
}

TEST_F(HttpTest, RethrowsTheErrorOfAReceiver) {
  const HttpServer server(in_turn({{200, "body"}}));
  HttpRequest request{.url = server.url("")};
  request.receive = [](const HttpAnswer&, std::string_view) { throw UsageError("full", "hint"); };
  EXPECT_EQ(error_of<UsageError>([&] { send(request); }), "full\n  hint: hint");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpTest, SendsPartOfAFile) {
  const HttpServer server(in_turn({{.hangs_up = true}, {200, "ok"}}));
  const TempDir dir;
  write_file(dir.file("f"), "0123456789");
  HttpRequest request{.method = "PUT", .url = server.url("")};
  request.upload = HttpFilePart{dir.file("f"), 2, 5};
  EXPECT_EQ(send(request).status, 200);
  EXPECT_EQ(server.requests().back().body, "23456");
  EXPECT_EQ(server.requests().back().method, "PUT");
  EXPECT_EQ(waited(), 1);
  request.upload->path = dir.file("none");
  EXPECT_THAT(error_of<UsageError>([&] { send(request); }), HasSubstr("open: "));
}

TEST_F(HttpTest, ReturnsARedirectIfAsked) {
  const HttpServer server(in_turn({{302, "", {"Location: https://elsewhere.example/x"}}}));
  HttpRequest request{.url = server.url("")};
  request.follows_redirects = false;
  const HttpAnswer answer = send(request);
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.header("location"), "https://elsewhere.example/x");
}

TEST_F(HttpTest, WaitsForTheRateLimit) {
  const HttpServer server(
      in_turn({{429, "", {"RateLimit: \"pages\";r=3;t=90, \"api\";r=0;t=55"}}, {200, "body"}}));
  EXPECT_EQ(send({.url = server.url("")}).body, "body");
  EXPECT_EQ(waits_.at(0), milliseconds(56'000));
  for (const char* header : {"", "\"api\";r=1;t=5", "\"api\";r=0", "r=0;t=x", "r=0;t=99999999"})
    EXPECT_EQ(rate_limit_wait(header).count(), 0) << header;
  EXPECT_EQ(rate_limit_wait("\"api\"; r=0; t=2").count(), 3);
}

TEST_F(HttpTest, DoesNotRetryPermanentErrors) {
  for (const int status : {400, 401, 403, 404, 409, 412, 501}) {
    const HttpServer server(in_turn({{.status = status}}));
    EXPECT_EQ(send({.url = server.url("")}).status, status);
    EXPECT_EQ(server.requests().size(), 1u);
  }
}

TEST_F(HttpTest, DoesNotRetryAPost) {
  const HttpServer server(in_turn({{.status = 503}}));
  EXPECT_EQ(send({.method = "POST", .url = server.url("")}).status, 503);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(HttpTest, RetriesAPostThatTheRateLimitRefusedIfAsked) {
  const HttpServer server(in_turn({{.status = 429},
                                   {.status = 429, .headers = {"Retry-After: 3"}},
                                   {.status = 503},
                                   {.status = 200}}));
  EXPECT_EQ(send({.method = "POST", .url = server.url("")}).status, 429);
  EXPECT_EQ(send({.method = "POST", .url = server.url(""), .repeats_refused = true}).status, 503);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(3000)));
}

TEST_F(HttpTest, RetriesAPostThatIsSafeToRepeat) {
  const HttpServer server(in_turn({{.status = 503}, {.status = 200}}));
  EXPECT_EQ(
      send({.method = "POST", .url = server.url(""), .body = "x", .repeat = Repeat::safe}).status,
      200);
  EXPECT_EQ(server.requests().at(1).body, "x");
}

// libcurl itself repeats a request if a reused connection is lost.
TEST_F(HttpTest, DoesNotRepeatAPostAfterALostConnection) {
  const HttpServer server(in_turn({{.status = 200}, {.hangs_up = true}}));
  HttpClient client(options());
  client.send({.url = server.url("")});
  EXPECT_THAT(error_of([&] { client.send({.method = "POST", .url = server.url("make")}); }),
              HasSubstr(server.url("make") + ": "));
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(waited(), 0);
}

TEST_F(HttpTest, ReusesConnections) {
  const HttpServer server(in_turn({{.status = 200}}));
  HttpClient client(options());
  for (int i = 0; i < 3; ++i) client.send({.url = server.url("")});
  EXPECT_EQ(server.requests().back().connection, 0);
}

TEST_F(HttpTest, WaitsAsLongAsRetryAfterSays) {
  const HttpServer server(
      in_turn({{.status = 429, .headers = {"Retry-After: 17"}}, {.status = 200}}));
  EXPECT_EQ(send({.url = server.url("")}).status, 200);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(17'000)));
}

TEST_F(HttpTest, DoesNotWaitIfRetryAfterExceedsTheTimeLimit) {
  const HttpServer server(in_turn({{.status = 503, .headers = {"Retry-After: 601"}}}));
  EXPECT_EQ(send({.url = server.url("")}).status, 503);
  EXPECT_EQ(waited(), 0);
}

TEST_F(HttpTest, StopsRetryingAtTheTimeLimit) {
  const HttpServer server(in_turn({{.status = 503}}));
  EXPECT_EQ(send({.url = server.url("")}).status, 503);
  milliseconds all{0};
  for (const milliseconds one : waits_) all += one;
  EXPECT_LE(all, milliseconds(600'000));
  EXPECT_GE(all, milliseconds(600'000 - 64'000));
}

TEST_F(HttpTest, FollowsARedirectToTheSameServer) {
  const HttpServer server(in_turn({{.status = 302, .headers = {"Location: ../there?x=1"}}, {200}}));
  EXPECT_EQ(send({.url = server.url("a/b/c"), .bearer = Secret("token")}).status, 200);
  EXPECT_EQ(server.requests().at(1).target, "/a/there?x=1");
  EXPECT_EQ(server.requests().at(1).headers.at("authorization"), "Bearer token");
}

TEST_F(HttpTest, RejectsARedirectToAnotherServer) {
  const HttpServer other(in_turn({{200}}));
  const HttpServer server(
      in_turn({{.status = 307, .headers = {"Location: " + other.url("a?q=PLANTED")}}}));
  const std::string said = error_of<SystemError>([&] { send({.url = server.url("x?k=PLANTED")}); });
  EXPECT_EQ(said, str(server.url("x"), ": redirects to another server, http://", other.host(),
                      ", which smelt does not follow"));
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(HttpTest, RejectsMoreThanFiveRedirects) {
  const HttpServer server(in_turn({{.status = 302, .headers = {"Location: /x"}}}));
  EXPECT_THAT(error_of<SystemError>([&] { send({.url = server.url("")}); }),
              HasSubstr("more than 5 redirects, the last one to "));
  EXPECT_EQ(server.requests().size(), 6u);
}

TEST_F(HttpTest, DoesNotRedirectAPostOrPut) {
  const HttpServer server(in_turn({{.status = 302, .headers = {"Location: /x"}}, {200}}));
  EXPECT_EQ(send({.method = "POST", .url = server.url("")}).status, 302);
  const HttpServer other(in_turn({{.status = 308, .headers = {"Range: bytes=0-1"}}, {200}}));
  // a 308 without Location continues an upload
  EXPECT_EQ(send({.method = "PUT", .url = other.url("")}).status, 308);
}

TEST_F(HttpTest, RejectsAResponseAboveTheSizeLimit) {
  const HttpServer server(in_turn({{200, std::string(2000, 'x')}}));
  HttpOptions small = options();
  small.most_bytes = 1999;
  EXPECT_EQ(error_of<SystemError>([&] { HttpClient(small).send({.url = server.url("")}); }),
            str(server.url(""), ": the response has more than 1999 bytes"));
}

TEST_F(HttpTest, ReportsAnUnreachableServerAfterThreeAttempts) {
  const std::string said = error_of<SystemError>([&] { send({.url = "http://127.0.0.1:1/x"}); });
  EXPECT_THAT(said, HasSubstr("http://127.0.0.1:1/x: "));
  EXPECT_THAT(said, HasSubstr("(3 attempts)\n  hint: check the network"));
}

TEST_F(HttpTest, GivesUpOnASlowServerAfterTheTimeout) {
  const HttpServer server(in_turn({{.late = milliseconds(5000)}}));
  HttpOptions hasty = options();
  hasty.to_answer = milliseconds(50);
  hasty.retry.tries = 2;
  EXPECT_THAT(error_of<SystemError>([&] { HttpClient(hasty).send({.url = server.url("")}); }),
              HasSubstr("(2 attempts)"));
}

TEST_F(HttpTest, StopRequestCancelsARequest) {
  std::stop_source stop;
  const HttpServer server([&](const ServedRequest&) {
    stop.request_stop();
    return ServedAnswer{.late = milliseconds(20'000)};
  });
  HttpOptions stoppable = options();
  stoppable.stop = stop.get_token();
  EXPECT_EQ(error_of<Stopped>([&] { HttpClient(stoppable).send({.url = server.url("x?q")}); }),
            server.url("x") + ": the request was cancelled");
}

TEST_F(HttpTest, StopRequestCancelsARetryWait) {
  std::stop_source stop;
  const HttpServer server([&](const ServedRequest&) {
    stop.request_stop();
    return ServedAnswer{.status = 503, .headers = {"Retry-After: 500"}};
  });
  HttpOptions stoppable;
  stoppable.stop = stop.get_token();
  EXPECT_THROW(HttpClient(stoppable).send({.url = server.url("")}), Stopped);
}

TEST_F(HttpTest, RejectsControlCharactersInHeaders) {
  const std::string said = error_of<UsageError>(
      [&] { send({.url = "http://127.0.0.1:1/x", .headers = {{"X-Name", "a\r\nPLANTED: b"}}}); });
  EXPECT_THAT(said, HasSubstr("a header of the request contains a control character"));
  EXPECT_THAT(said, Not(HasSubstr("PLANTED")));
  EXPECT_THROW(send({.url = "http://127.0.0.1:1/x", .bearer = Secret("a\nb")}), UsageError);
}

TEST_F(HttpTest, RejectsAnUntrustedCertificate) {
  const TempDir dir;
  const std::string key = dir.file("key.pem"), certificate = dir.file("certificate.pem");
  const CommandOutput made = run_command(
      str("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
          "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ",
          key, " -out ", certificate));
  ASSERT_EQ(made.status, 0) << made.text;
  const int port = free_port();
  const ServerProcess server({"openssl", "s_server", "-accept", str("127.0.0.1:", port), "-www",
                              "-quiet", "-key", key, "-cert", certificate},
                             port, dir.file("log"));
  const std::string url = str("https://localhost:", port, "/");
  const std::string said = error_of<SystemError>([&] { send({.url = url}); });
  EXPECT_THAT(said, HasSubstr("certificate"));
  EXPECT_THAT(said, HasSubstr("hint: install the package ca-certificates, or name the file"));
  EXPECT_EQ(waited(), 0);
  const ScopedVariable certificates("SSL_CERT_FILE", certificate);
  EXPECT_EQ(send({.url = url}).status, 200);
  EXPECT_THROW(send({.url = str("https://127.0.0.1:", port, "/")}), SystemError);  // not its name
}

}  // namespace
}  // namespace smelt::io
