#include "io/credentials/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cloud/google_stand_in.h"
#include "cloud/token_source.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/oracle.h"

namespace smelt::cloud {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CredentialsTest : public testing::Test {
 protected:
  io::HttpClient client() {
    io::HttpOptions options;
    options.wait = [](std::chrono::milliseconds) {};
    return io::HttpClient(options);
  }
  std::string token_of(const Json& file) {
    home_.name_file(file);
    io::HttpClient http = client();
    return io::google_credentials()->fetch(http).text.reveal();
  }
  std::string refusal(const Json& file) {
    return error_of<UsageError>([&] { token_of(file); });
  }
  std::string where() const {
    return str("credentials: ", home_.file(), " (GOOGLE_APPLICATION_CREDENTIALS): ");
  }
  Json without(Json file, const char* field) {
    file.erase(field);
    return file;
  }
  Json with(Json file, const char* field, const Json& value) {
    file[field] = value;
    return file;
  }

  EmptyHome home_;
  GoogleStandIn google_;
};

TEST_F(CredentialsTest, ExchangesAUsersRefreshToken) {
  EXPECT_EQ(token_of(google_.user()), "PLANTED-access");
  EXPECT_EQ(google_.last("/token").body,
            "grant_type=refresh_token&refresh_token=PLANTED%2Frefresh%2B&client_id=client&"
            "client_secret=PLANTED-client");
  const io::Account who = io::google_credentials()->who();
  EXPECT_EQ(who.kind, "user");
  EXPECT_EQ(who.source, home_.file() + " (GOOGLE_APPLICATION_CREDENTIALS)");
  EXPECT_EQ(who.quota_project, "billed");
}

TEST_F(CredentialsTest, ExchangesAnExternalUsersRefreshToken) {
  EXPECT_EQ(token_of(google_.foreign_user()), "PLANTED-access");
  const ServedRequest request = google_.last("/token");
  EXPECT_EQ(request.body, "grant_type=refresh_token&refresh_token=PLANTED%2Frefresh%2B");
  EXPECT_EQ(request.headers.at("authorization"), "Basic Y2xpZW50OlBMQU5URUQtY2xpZW50");
}

TEST_F(CredentialsTest, GooglesLibraryVerifiesServiceAccountAssertion) {
  REQUIRE_ORACLE();
  const Json account = google_.service_account(make_rsa_key(home_.dir.file("key.pem")));
  EXPECT_EQ(token_of(account), "PLANTED-access");
  const std::string body = google_.last("/token").body;
  const std::string grant =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
  ASSERT_THAT(body, StartsWith(grant));
  io::write_file(home_.dir.file("assertion"), body.substr(grant.size()));
  const CommandOutput checked = run_oracle(str(source_path("tests/cloud/check_assertion.py"), " ",
                                               home_.file(), " < ", home_.dir.file("assertion")));
  ASSERT_EQ(checked.status, 0) << checked.text;
  const Json said = Json::parse(checked.text);
  EXPECT_EQ(said["header"], Json({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "7"}}));
  EXPECT_EQ(said["claims"]["iss"], "robot@p.iam.gserviceaccount.com");
  EXPECT_EQ(said["claims"]["scope"], "https://www.googleapis.com/auth/cloud-platform");
  EXPECT_EQ(said["claims"]["exp"].get<int>() - said["claims"]["iat"].get<int>(), 3600);
}

TEST_F(CredentialsTest, ImpersonatesAnotherAccount) {
  EXPECT_EQ(token_of(google_.impersonated()), "PLANTED-robot");
  const ServedRequest request =
      google_.last("/iam/serviceAccounts/robot@p.iam.gserviceaccount.com:generateAccessToken");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer PLANTED-access");
  EXPECT_EQ(Json::parse(request.body),
            Json({{"scope", {"https://www.googleapis.com/auth/cloud-platform"}},
                  {"lifetime", "3600s"},
                  {"delegates", {"between@p"}}}));
  io::HttpClient http = client();
  EXPECT_EQ(io::google_credentials()->who().account, "robot@p.iam.gserviceaccount.com");
  EXPECT_EQ(system_clock::to_time_t(io::google_credentials()->fetch(http).expires), 4102542245);
}

TEST_F(CredentialsTest, ExchangesTokensOfOtherClouds) {
  io::write_file(home_.dir.file("subject"), "PLANTED-subject\n");
  EXPECT_EQ(token_of(google_.external({{"file", home_.dir.file("subject")}})), "PLANTED-access");
  const std::string exchange =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&"
      "audience=%2F%2Fiam.googleapis.com%2Fx&"
      "scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform&"
      "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&"
      "subject_token=PLANTED-subject&"
      "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt";
  EXPECT_EQ(google_.last("/token").body, exchange);
  const Json asked{{"url", google_.url("subject")},
                   {"headers", {{"Authorization", "bearer PLANTED-pass"}}},
                   {"format", {{"type", "json"}, {"subject_token_field_name", "value"}}}};
  EXPECT_EQ(token_of(with(google_.external(asked), "service_account_impersonation_url",
                          google_.impersonated()["service_account_impersonation_url"])),
            "PLANTED-robot");
  EXPECT_EQ(google_.last("/token").body, exchange);
  EXPECT_EQ(google_.last("/subject").headers.at("authorization"), "bearer PLANTED-pass");
}

TEST_F(CredentialsTest, UsesTheCredentialsOfAGoogleMachine) {
  const std::string root = "/computeMetadata/v1/";
  const std::vector<std::string> flavor{"Metadata-Flavor: Google"};
  google_.answer(root + "instance/service-accounts/default/email",
                 {200, "robot@p.iam.gserviceaccount.com", flavor});
  google_.answer(root + "instance/service-accounts/default/token",
                 {200, R"({"access_token": "PLANTED-machine", "expires_in": 300})", flavor});
  google_.answer(root + "project/project-id", {200, "p", flavor});
  const ScopedVariable machine("GCE_METADATA_HOST", google_.host());
  const auto found = io::google_credentials();
  EXPECT_EQ(found->who().account, "robot@p.iam.gserviceaccount.com");
  EXPECT_EQ(found->who().project, "p");
  EXPECT_EQ(found->who().source, "of this machine");
  io::HttpClient http = client();
  EXPECT_EQ(found->fetch(http).text.reveal(), "PLANTED-machine");
  EXPECT_EQ(google_.last(root + "project/project-id").headers.at("metadata-flavor"), "Google");
  // A response without the header Metadata-Flavor is not from Google's metadata server.
  google_.answer(root + "instance/service-accounts/default/email", {200, "x@y.iam"});
  EXPECT_EQ(io::machine_credentials(), nullptr);
}

TEST_F(CredentialsTest, FindsGcloudsFile) {
  const auto write = [&](const std::string& path) {
    io::write_file(path, google_.user().dump());
    ::chmod(path.c_str(), 0600);
    return path + " (gcloud's)";
  };
  const std::string name = "application_default_credentials.json";
  const std::string usual = write(home_.dir.file(".config/gcloud/" + name));
  EXPECT_EQ(io::google_credentials()->who().source, usual);
  const std::string other = write(home_.dir.file("other/" + name));
  const ScopedVariable config("CLOUDSDK_CONFIG", home_.dir.file("other"));
  EXPECT_EQ(io::google_credentials()->who().source, other);
}

TEST_F(CredentialsTest, SuggestsTheSignInCommandWithoutCredentials) {
  EXPECT_THAT(error_of<UsageError>([] { io::google_credentials(); }),
              AllOf(HasSubstr("credentials: none were found: GOOGLE_APPLICATION_CREDENTIALS"),
                    HasSubstr("hint: gcloud auth application-default login")));
}

TEST_F(CredentialsTest, UsesOrRejectsAGivenFile) {
  const ScopedVariable named("GOOGLE_APPLICATION_CREDENTIALS", home_.file());
  const auto said = [] { return error_of<UsageError>([] { io::google_credentials(); }); };
  EXPECT_THAT(said(), StartsWith(where() + "the file does not exist\n  hint: make new ones"));
  {
    const ScopedVariable folder("GOOGLE_APPLICATION_CREDENTIALS", home_.dir.path());
    EXPECT_THAT(said(), HasSubstr("it is a folder, not a file\n"));
  }
  io::write_file(home_.file(), R"({"refresh_token": "PLANTED)");
  EXPECT_THAT(said(), AllOf(StartsWith(where() + "not a JSON object"), Not(HasSubstr("PLANTED"))));
  EXPECT_THAT(refusal({{"refresh_token", "PLANTED"}}),
              StartsWith(where() + "it has no field 'type'"));
  home_.name_file(google_.user());
  ::chmod(home_.file().c_str(), 0644);
  EXPECT_EQ(said(), str(where(), "every user of this machine can read it\n  hint: chmod 600 '",
                        home_.file(),
                        "'; for a Kubernetes secret set defaultMode: 0400, or mount it readOnly"));
}

TEST_F(CredentialsTest, ReportsMissingFields) {
  EXPECT_THAT(refusal(without(google_.user(), "refresh_token")),
              StartsWith(where() + "refresh_token is missing"));
  EXPECT_THAT(refusal(with(google_.user(), "client_secret", 7)),
              StartsWith(where() + "client_secret is not a string"));
  EXPECT_THAT(refusal(with(google_.user(), "type", "authorised_user")),
              StartsWith(where() + "credentials of type authorised_user are not supported; did you "
                                   "mean 'authorized_user'?"));
  EXPECT_THAT(refusal(with(google_.user(), "universe_domain", "other.example")),
              StartsWith(where() + "universe_domain is other.example"));
  EXPECT_THAT(
      refusal(google_.service_account("PLANTED")),
      StartsWith(where() + "private_key is not an RSA key in PEM format without a password"));
}

TEST_F(CredentialsTest, SendsSecretsOnlyToGooglesServers) {
  for (const char* url :
       {"https://evil.example/token", "https://oauth2.googleapis.com.evil.example/",
        "https://accounts.google.com:99/"})
    EXPECT_THAT(refusal(with(google_.user(), "token_uri", url)),
                HasSubstr("is not a Google server or a trusted server, so no credentials are sent "
                          "to it\n  hint: if the server is trusted, set SMELT_TRUSTED_ENDPOINTS="))
        << url;
  EXPECT_THAT(refusal(with(google_.user(), "token_uri", "http://oauth2.googleapis.com/token")),
              HasSubstr("token_uri: secrets are not sent over http"));
  EXPECT_THAT(refusal(with(google_.user(), "token_uri", "https://PLANTED@oauth2.googleapis.com/")),
              AllOf(HasSubstr("token_uri: must be an http or https URL without a user name"),
                    Not(HasSubstr("PLANTED"))));
  EXPECT_THAT(refusal(with(google_.impersonated(), "service_account_impersonation_url",
                           "https://evil.example/")),
              HasSubstr("evil.example is not a Google server"));
  EXPECT_EQ(google_.count("/token"), 0);
}

TEST_F(CredentialsTest, RejectsProgramsAndUnknownServersInAFile) {
  const std::string touched = home_.dir.file("touched");
  EXPECT_THAT(refusal(google_.external({{"executable", {{"command", "touch " + touched}}}})),
              HasSubstr("credential_source: executable: smelt does not run programs that a "
                        "credentials file names"));
  EXPECT_FALSE(std::filesystem::exists(touched));
  EXPECT_THAT(refusal(google_.external({{"environment_id", "aws1"}})),
              HasSubstr("environment_id is aws1: smelt does not exchange keys of another cloud"));
  EXPECT_THAT(refusal(google_.external({{"url", "https://evil.example/"}})),
              HasSubstr("evil.example is not a known identity token server"));
}

TEST_F(CredentialsTest, ReportsTheServersMessageForRejectedCredentials) {
  google_.answer("/token",
                 {400, R"({"error": "invalid_grant", "error_description": "Token has been )"
                       R"(expired or revoked: PLANTED/refresh+ PLANTED%2Frefresh%2B"})"});
  EXPECT_THAT(refusal(google_.user()),
              StartsWith(str(where(), "not accepted by ", google_.host(),
                             ": invalid_grant: Token has been expired or revoked: [secret] "
                             "[secret]\n  hint: gcloud auth application-default login")));
}

TEST_F(CredentialsTest, ReportsAWrongClock) {
  google_.answer("/token", {400,
                            R"({"error": "invalid_grant", "error_description": "Invalid JWT"})",
                            {"Date: Mon, 23 Nov 2020 17:00:00 GMT"}});
  EXPECT_THAT(refusal(google_.user()),
              AllOf(HasSubstr("Invalid JWT; this machine's clock is "),
                    HasSubstr("ahead of the server's\n  hint: timedatectl set-ntp true")));
}

TEST_F(CredentialsTest, DeniedImpersonationNamesTheRole) {
  google_.answer(
      "/iam/serviceAccounts/robot@p.iam.gserviceaccount.com:generateAccessToken",
      {403, R"({"error": {"status": "PERMISSION_DENIED", "message": "no: PLANTED-access"}})"});
  EXPECT_THAT(
      refusal(google_.impersonated()),
      AllOf(HasSubstr("impersonating robot@p.iam.gserviceaccount.com is denied: PERMISSION_DENIED: "
                      "no: [secret]"),
            HasSubstr("--role=roles/iam.serviceAccountTokenCreator")));
}

TEST_F(CredentialsTest, RetriesAFailingTokenServer) {
  google_.answer("/token", {.status = 503});
  EXPECT_THAT(error_of<SystemError>([&] { token_of(google_.user()); }),
              HasSubstr(str(google_.url("token"), " returned HTTP status 503")));
  EXPECT_GT(google_.count("/token"), 3);
  google_.answer("/token", {200, R"({"token": "PLANTED"})"});
  EXPECT_EQ(error_of<SystemError>([&] { token_of(google_.user()); }),
            where() + "the server's response has no access_token");
}

TEST_F(CredentialsTest, ReloadsCredentialsAfterANewSignIn) {
  home_.name_file(google_.user());
  TokenSource tokens(io::google_credentials(), &system_clock::now, &io::google_credentials);
  google_.answer("/token", {400, R"({"error": "invalid_grant"})"});
  io::HttpClient http = client();
  EXPECT_THROW(tokens.token(http), io::CredentialsRefused);
  auto again = google_.user();
  again["client_id"] = "another";  // a new sign-in changes fields of the file
  home_.name_file(again);
  EXPECT_THROW(tokens.token(http), io::CredentialsRefused);
  EXPECT_THAT(google_.last("/token").body, HasSubstr("client_id=another"));
  google_.answer("/token", {200, R"({"access_token": "t", "expires_in": 3599})"});
  EXPECT_EQ(tokens.token(http).text.reveal(), "t");
}

TEST_F(CredentialsTest, RenewsATokenBeforeItExpires) {
  home_.name_file(google_.user());
  auto now = system_clock::now();
  TokenSource tokens(io::google_credentials(), [&] { return now; });
  io::HttpClient http = client();
  tokens.token(http);
  now += seconds(3599 - 225 - 5);
  tokens.token(http);
  EXPECT_EQ(google_.count("/token"), 1);
  now += seconds(6);
  tokens.token(http);
  EXPECT_EQ(google_.count("/token"), 2);
}

}  // namespace
}  // namespace smelt::cloud
