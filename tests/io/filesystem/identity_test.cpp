#include "io/filesystem/identity.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "io/credentials/credential_file.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "io/filesystem/metadata_server.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/http_server.h"
#include "support/oracle.h"
#include "support/server_process.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

constexpr const char* kUser = R"({"type": "authorized_user", "client_id": "c",
  "client_secret": "SECRET", "refresh_token": "SECRET"})";
constexpr const char* kAccount = "HTTP/1.0 200 OK\r\nMetadata-Flavor: Google\r\n\r\nx@y.iam";

// Accepts one connection after another and sends each the next of its texts after the time `late`;
// "" sends nothing. Afterwards it accepts no more. For the time `busy` it accepts none, and only
// one client can wait. A client that has given up before it is accepted gets no text.
class MetadataServer {
 public:
  explicit MetadataServer(std::vector<std::string> answers, std::chrono::milliseconds late = {},
                          std::chrono::milliseconds busy = {})
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof address;
    auto* any = reinterpret_cast<::sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), any, size), 0);
    EXPECT_EQ(::listen(socket_.get(), busy.count() > 0 ? 0 : 8), 0);
    EXPECT_EQ(::getsockname(socket_.get(), any, &size), 0);
    root_ = str("127.0.0.1:", ntohs(address.sin_port));
    address_ = address;
    thread_ = std::jthread([this, answers, late, busy] {
      std::this_thread::sleep_for(busy);
      for (const std::string& answer : answers) {
        const Descriptor taken = asking();
        if (!taken.is_open()) return;
        std::this_thread::sleep_for(late);
        EXPECT_EQ(::send(taken.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                  std::ssize(answer));
      }
    });
  }
  // Ends the thread, which may still wait for a client.
  ~MetadataServer() { ::shutdown(socket_.get(), SHUT_RDWR); }
  const std::string& root() const { return root_; }
  // Returns a connection on which a request was sent. With a busy server it takes the only place in
  // the queue, so that other clients get no response.
  Descriptor connection() const {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(
        ::connect(socket.get(), reinterpret_cast<const ::sockaddr*>(&address_), sizeof address_),
        0);
    EXPECT_EQ(::send(socket.get(), "?", 1, MSG_NOSIGNAL), 1);
    return socket;
  }

 private:
  // Returns the next connection that sends a request; it is not open if the server ends.
  Descriptor asking() const {
    while (true) {
      Descriptor taken(::accept(socket_.get(), nullptr, nullptr));
      if (!taken.is_open()) return taken;
      char request[1024];
      if (::recv(taken.get(), request, sizeof request, 0) > 0) return taken;
    }
  }

  Descriptor socket_;
  ::sockaddr_in address_{};
  std::string root_;
  std::jthread thread_;
};

class IdentityTest : public testing::Test {
 protected:
  std::string refusal() {
    try {
      google_identity();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  // Writes a credentials file that only its owner can read.
  static void write_key(const std::string& path, const std::string& content) {
    write_file(path, content);
    std::filesystem::permissions(path, std::filesystem::perms(0600));
  }

  static std::string user_with(const std::string& token_server) {
    return str(R"({"type": "authorized_user", "client_id": "c", "client_secret": "SECRET",
      "refresh_token": "SECRET", "token_uri": ")",
               token_server, "\"}");
  }

  const TempDir dir_;
  const std::string key_ = dir_.file("key.json");
  const ScopedVariable home_{"HOME", dir_.path()}, config_{"CLOUDSDK_CONFIG"};
  const ScopedVariable credentials_{"GOOGLE_APPLICATION_CREDENTIALS"};
  const ScopedVariable clients_path_{"GOOGLE_GCLOUD_ADC_PATH_OVERRIDE"};
  const ScopedVariable metadata_{"GCE_METADATA_ROOT", "127.0.0.1:1"};
};

TEST_F(IdentityTest, NamesAServiceAccountByItsEmail) {
  write_key(key_,
            R"({"type": "service_account", "client_email": "x@y.iam", "private_key": "SECRET"})");
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  const Identity identity = google_identity();
  EXPECT_EQ(identity.words, "service account x@y.iam (" + key_ + ")");
  EXPECT_EQ(identity.member, "serviceAccount:x@y.iam");
  EXPECT_FALSE(identity.anonymous);
}

TEST_F(IdentityTest, FindsTheUserOfAGcloudSignIn) {
  const std::string file = dir_.file(".config/gcloud/application_default_credentials.json");
  write_key(file, kUser);
  EXPECT_EQ(google_identity().words, "the user who signed in with gcloud (" + file + ")");
  EXPECT_FALSE(google_identity().anonymous);
}

TEST_F(IdentityTest, FindsCredentialsInTheFolderOfCloudsdkConfig) {
  const ScopedVariable config("CLOUDSDK_CONFIG", dir_.file("other"));
  write_key(dir_.file("other/application_default_credentials.json"), kUser);
  EXPECT_THAT(google_identity().words, HasSubstr(dir_.file("other/application_default")));
}

// The rules of `smelt cloud` (tests/cloud/credentials_test.cpp) hold for gs:// as well.
TEST_F(IdentityTest, RejectsCredentialsThatNameAnUntrustedServer) {
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  write_key(key_, R"({"type": "authorized_user", "client_id": "c", "client_secret": "SECRET",
    "refresh_token": "SECRET", "token_uri": "http://192.0.2.2/token"})");
  EXPECT_THAT(refusal(), HasSubstr("token_uri: secrets are not sent over http, to 192.0.2.2"));
  write_key(key_, R"({"type": "external_account", "audience": "a", "subject_token_type": "t",
    "token_url": "https://example.com/sts", "credential_source": {"file": "/etc/hostname"}})");
  EXPECT_THAT(refusal(), HasSubstr("token_url: example.com is not a Google server"));
  write_key(key_, R"({"type": "external_account", "audience": "a", "subject_token_type": "t",
    "credential_source": {"executable": {"command": "id"}}})");
  EXPECT_THAT(refusal(), HasSubstr("smelt does not run programs that a credentials file names"));
  write_key(key_, R"({"type": "external_account_authorized_user", "client_id": "c",
    "client_secret": "SECRET", "refresh_token": "SECRET",
    "token_url": "https://sts.googleapis.com/v1/oauthtoken"})");
  EXPECT_THAT(refusal(), HasSubstr("external_account_authorized_user cannot be used for gs://"));
  EXPECT_THAT(refusal(), testing::Not(HasSubstr("SECRET")));
}

TEST_F(IdentityTest, RejectsWorldReadableCredentials) {
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  write_key(key_, kUser);
  EXPECT_EQ(refusal(), "accepted");
  std::filesystem::permissions(key_, std::filesystem::perms(0644));
  EXPECT_THAT(refusal(), HasSubstr("every user of this machine can read it"));
}

// Google's client ignores CLOUDSDK_CONFIG, but must read the file that was checked. The message
// must not contain the secrets, which begin with PLANTED.
TEST_F(IdentityTest, ReportsAnExpiredSignInWithoutSecrets) {
  HttpServer server([](const ServedRequest& request) -> ServedAnswer {
    return {.status = 400,
            .body = R"({"error": "invalid_grant", "error_description": "Bad Request: )" +
                    request.body + "\"}"};
  });
  write_key(dir_.file("config/application_default_credentials.json"),
            R"({"type": "authorized_user", "client_id": "c", "client_secret": "PLANTED-a",
    "refresh_token": "PLANTED-b", "token_uri": ")" +
                server.url("/token") + "\"}");
  const ScopedVariable config("CLOUDSDK_CONFIG", dir_.file("config"));
  lead_google_client_to_gcloud();
  const std::string message = error_of<UsageError>(
      [&] { read_file("gs://bucket/x?scheme=http&endpoint_override=" + server.host()); });
  EXPECT_THAT(message, HasSubstr("invalid_grant"));
  EXPECT_THAT(message, HasSubstr("hint: gcloud auth application-default login"));
  EXPECT_THAT(message, testing::Not(HasSubstr("PLANTED")));
  EXPECT_THAT(server.requests().at(0).body, HasSubstr("PLANTED-b"));
}

TEST_F(IdentityTest, ChecksTheFileThatGooglesClientReads) {
  const ScopedVariable path("GOOGLE_GCLOUD_ADC_PATH_OVERRIDE", dir_.file("other.json")),
      config("CLOUDSDK_CONFIG", dir_.file("config"));
  lead_google_client_to_gcloud();
  write_key(dir_.file("other.json"), kUser);
  EXPECT_THAT(google_identity().words, HasSubstr("(" + dir_.file("other.json") + ")"));
}

// The object's name contains the words by which a rejected sign-in is recognized.
TEST_F(IdentityTest, AFailingTokenServerIsASystemError) {
  HttpServer server(
      [](const ServedRequest& /*request*/) -> ServedAnswer { return {.status = 503}; });
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  write_key(key_, user_with(server.url("/token")));
  const std::string message = error_of<SystemError>([&] {
    read_file("gs://oauth2/invalid_grant?scheme=http&endpoint_override=" + server.host());
  });
  EXPECT_THAT(message, HasSubstr("hint: check the network"));
}

TEST_F(IdentityTest, AnUnreachableTokenServerIsASystemError) {
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  write_key(key_, user_with("http://127.0.0.1:1/token"));
  const std::string message = error_of<SystemError>(
      [&] { read_file("gs://oauth2/invalid_grant?scheme=http&endpoint_override=127.0.0.1:1"); });
  EXPECT_THAT(message, HasSubstr("hint: check the network"));
}

TEST_F(IdentityTest, UsesTheServiceAccountOfAGoogleMachine) {
  REQUIRE_ORACLE();
  const int port = free_port();
  const ServerProcess server(
      {oracle_python(), source_path("tests/io/filesystem/refusing_server.py"), std::to_string(port),
       "403", dir_.file("requests")},
      port, dir_.file("log"));
  const ScopedVariable metadata("GCE_METADATA_ROOT", "127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(google_identity().words,
            "service account trainer@project.iam.gserviceaccount.com (of this machine)");
}

TEST_F(IdentityTest, WaitsForASlowMetadataServer) {
  const MetadataServer server({kAccount}, std::chrono::milliseconds(1500));
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  EXPECT_EQ(google_identity().member, "serviceAccount:x@y.iam");
}

TEST_F(IdentityTest, RetriesIfTheMetadataServerAcceptsNoConnection) {
  const MetadataServer server({"", kAccount}, {}, std::chrono::milliseconds(1300));
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  const Descriptor fills_the_queue = server.connection();
  EXPECT_EQ(google_identity().member, "serviceAccount:x@y.iam");
}

TEST_F(IdentityTest, RetriesMetadataRequestsInterruptedBySignals) {
  const MetadataServer server({kAccount}, std::chrono::milliseconds(500));
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  struct ::sigaction nothing{}, before{};
  nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &nothing, &before), 0);
  {
    const std::jthread signals([self = ::pthread_self()](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(20)))
        ::pthread_kill(self, SIGUSR1);
    });
    const auto account = metadata_server_account(std::chrono::milliseconds(3000));
    EXPECT_EQ(account, "x@y.iam");
  }
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(IdentityTest, RetriesTheMetadataServerAfterTemporaryErrors) {
  const MetadataServer server(
      {"", "HTTP/1.0 503 Later\r\n\r\n", "HTTP/1.0 429 Later\r\n\r\n", kAccount});
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  EXPECT_EQ(google_identity().member, "serviceAccount:x@y.iam");
}

TEST_F(IdentityTest, ASilentMetadataServerIsASystemError) {
  const MetadataServer server({});
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  try {
    metadata_server_account(std::chrono::milliseconds(300));
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("credentials: the metadata server at " + server.root() +
                          " did not return this machine's identity\n  hint: run the"));
  }
}

TEST_F(IdentityTest, IsAnonymousOnAMachineWithoutAnAccount) {
  const MetadataServer server({"HTTP/1.0 404 Not Found\r\n\r\n"});
  const ScopedVariable metadata("GCE_METADATA_ROOT", server.root());
  EXPECT_TRUE(google_identity().anonymous);
}

TEST_F(IdentityTest, IsAnonymousWithoutCredentials) {
  EXPECT_TRUE(google_identity().anonymous);
  EXPECT_EQ(google_identity().words, "anonymous (no credentials were found)");
}

TEST_F(IdentityTest, RejectsAnUnusableGivenCredentialsFile) {
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", key_);
  EXPECT_THAT(refusal(),
              HasSubstr("key.json (GOOGLE_APPLICATION_CREDENTIALS): the file does not exist"));
  write_key(key_, "SECRET");
  EXPECT_THAT(refusal(), HasSubstr("key.json (GOOGLE_APPLICATION_CREDENTIALS): not a JSON object"));
  EXPECT_THAT(refusal(), testing::Not(HasSubstr("SECRET")));
  write_key(key_, "{}");
  EXPECT_THAT(refusal(), HasSubstr("it has no field 'type'"));
}

TEST_F(IdentityTest, NamesAwsIdentitiesByTheirSource) {
  const ScopedVariable file("AWS_SHARED_CREDENTIALS_FILE"), profile("AWS_PROFILE"),
      role("AWS_ROLE_ARN");
  const ScopedVariable none("AWS_ACCESS_KEY_ID");
  EXPECT_TRUE(aws_identity().anonymous);
  write_file(dir_.file(".aws/credentials"), "");
  EXPECT_THAT(aws_identity().words, HasSubstr("profile default ("));
  const ScopedVariable key("AWS_ACCESS_KEY_ID", "AKIA1");
  EXPECT_EQ(aws_identity().words, "the key in AWS_ACCESS_KEY_ID");
}

}  // namespace
}  // namespace smelt::io
