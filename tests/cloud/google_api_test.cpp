#include "cloud/google_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cloud/google_stand_in.h"
#include "support/error_of.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class GoogleApiTest : public testing::Test {
 protected:
  GoogleApi api() {
    home_.name_file(google_.user());
    io::HttpOptions options;
    options.wait = [](std::chrono::milliseconds) {};
    return GoogleApi(TokenSource(io::google_credentials()), options);
  }

  EmptyHome home_;
  GoogleStandIn google_;
  const ScopedVariable server_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", google_.url("base/")};
};

TEST_F(GoogleApiTest, CallHasATokenAndAQuotaProject) {
  google_.answer("/base/v2/x?pageSize=7", {200, R"({"known": 1, "unknown": 2})"});
  const ApiAnswer answer = api().call({.method = "POST",
                                       .service = "tpu",
                                       .path = "/v2/x",
                                       .query = {{"pageSize", "7"}},
                                       .body = {{"name", "n"}}});
  EXPECT_EQ(answer.body, Json({{"known", 1}, {"unknown", 2}}));
  const ServedRequest request = google_.last("/base/v2/x?pageSize=7");
  EXPECT_EQ(request.body, R"({"name":"n"})");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer PLANTED-access");
  EXPECT_EQ(request.headers.at("x-goog-user-project"), "billed");
}

TEST_F(GoogleApiTest, ReturnsAnErrorResponseAsAValue) {
  const Json error{
      {"code", 403},
      {"status", "PERMISSION_DENIED"},
      {"message", "Cloud TPU API has not been used, PLANTED-access"},
      {"details",
       {{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason", "SERVICE_DISABLED"}}}}};
  google_.answer("/base/v2/x", {403, Json{{"error", error}}.dump()});
  const ApiAnswer answer = api().call({.service = "tpu", .path = "/v2/x"});
  ASSERT_TRUE(answer.fault);
  EXPECT_EQ(answer.fault->status, 403);
  EXPECT_EQ(answer.fault->code, "PERMISSION_DENIED");
  EXPECT_EQ(answer.fault->reason, "SERVICE_DISABLED");
  EXPECT_EQ(answer.fault->message, "Cloud TPU API has not been used, [secret]");
}

TEST_F(GoogleApiTest, ReportsAResponseThatIsNotJson) {
  google_.answer("/base/v2/x", {502, "<html>"});
  EXPECT_EQ(api().call({.service = "tpu", .path = "/v2/x"}).fault->message, "HTTP status 502");
  google_.answer("/base/v2/x", {200, "<html>"});
  EXPECT_EQ(error_of<SystemError>([&] { api().call({.service = "tpu", .path = "/v2/x"}); }),
            google_.url("base/v2/x") + ": the response is not a JSON object");
}

TEST_F(GoogleApiTest, RenewsARejectedTokenOnce) {
  google_.answer("/base/v2/x", {401, R"({"error": {"message": "bad PLANTED-access"}})"});
  EXPECT_THAT(error_of<UsageError>([&] { api().call({.service = "tpu", .path = "/v2/x"}); }),
              AllOf(HasSubstr(str("not accepted by ", google_.host(), ": bad [secret]")),
                    HasSubstr("hint: gcloud auth application-default login")));
  EXPECT_EQ(google_.count("/base/v2/x"), 2);
  EXPECT_EQ(google_.count("/token"), 2);
}

TEST_F(GoogleApiTest, SendsTokensOnlyToGoogleAndThisMachine) {
  EXPECT_EQ(api_server("compute").text(), "https://compute.googleapis.com/");
  const auto refusal = [](const std::string& server) {
    const ScopedVariable other("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", server);
    return error_of<UsageError>([] { api_server("tpu"); });
  };
  EXPECT_EQ(refusal("https://restricted.googleapis.com/"), "no error");
  EXPECT_THAT(refusal("https://evil.example/"),
              AllOf(HasSubstr("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU: evil.example is neither a "
                              "Google server nor a trusted server"),
                    HasSubstr("SMELT_TRUSTED_ENDPOINTS=evil.example")));
  EXPECT_THAT(refusal("http://tpu.googleapis.com/"),
              HasSubstr("http to tpu.googleapis.com would send secrets unencrypted"));
  EXPECT_THAT(refusal("https://PLANTED@tpu.googleapis.com/"), Not(HasSubstr("PLANTED")));
  const ScopedVariable trusted("SMELT_TRUSTED_ENDPOINTS", "evil.example");
  EXPECT_EQ(refusal("https://evil.example/"), "no error");
}

}  // namespace
}  // namespace smelt::cloud
