// Tests smelt cloud whoami, and that its output never contains a secret.
#include "cloud/whoami.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "cloud/google_stand_in.h"
#include "io/filesystem/file.h"
#include "support/command.h"

namespace smelt::cloud {
namespace {

using testing::HasSubstr;
using testing::Not;

class WhoamiTest : public testing::Test {
 protected:
  EmptyHome home_;
  GoogleStandIn google_;
  const ScopedVariable server_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_OPENIDCONNECT", google_.url("")};
};

TEST_F(WhoamiTest, ReportsTheUsersAccount) {
  home_.name_file(google_.user());
  const CommandOutput said = run_smelt("cloud whoami");
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.text.substr(0, said.text.find("token:")),
            str("account: me@example.org (user)\nsource:  ", home_.file(),
                " (GOOGLE_APPLICATION_CREDENTIALS)\nproject: billed (quota_project_id)\n"
                "billed:  billed\n"));
  EXPECT_THAT(said.text, HasSubstr("token:   valid for 359"));
}

TEST_F(WhoamiTest, ReportsAMissingQuotaProject) {
  Json user = google_.user();
  user.erase("quota_project_id");
  home_.name_file(user);
  const ScopedVariable project("GOOGLE_CLOUD_PROJECT", "mine");
  EXPECT_THAT(run_smelt("cloud whoami").text,
              HasSubstr("billed:  gcloud's own project, where some APIs are disabled; to use "
                        "yours: gcloud auth application-default set-quota-project mine\n"));
}

TEST_F(WhoamiTest, PrintsTheSameAsJson) {
  home_.name_file(google_.service_account(make_rsa_key(home_.dir.file("key.pem"))));
  Json said = Json::parse(run_smelt("cloud whoami --json").text);
  EXPECT_GT(said["token_seconds"], 3500);
  said.erase("token_seconds");
  EXPECT_EQ(said, Json({{"kind", "service account"},
                        {"account", "robot@p.iam.gserviceaccount.com"},
                        {"source", home_.file() + " (GOOGLE_APPLICATION_CREDENTIALS)"},
                        {"project", "p"},
                        {"project_source", "the credentials"},
                        {"quota_project", nullptr}}));
}

// Kubernetes mounts secrets read-only, so that chmod cannot change the mode.
TEST_F(WhoamiTest, AcceptsAnyFileModeOnAReadOnlyMount) {
  home_.name_file(google_.user());
  const std::string key = home_.file();
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  const std::string mount =
      str("mount --bind ", key, " ", key, " && mount -o remount,bind,ro ", key, " && ");
  if (run_command(str("unshare -rm sh -c '", mount, "true'")).status != 0)
    GTEST_SKIP() << "this machine allows no mounts";
  const std::string whoami = smelt_program() + " cloud whoami";
  EXPECT_THAT(run_command(whoami).text, HasSubstr("every user of this machine"));
  EXPECT_THAT(run_command(str("unshare -rm sh -c '", mount, whoami, "'")).text,
              Not(HasSubstr("every user of this machine")));
}

TEST_F(WhoamiTest, UsesTheFirstProjectFound) {
  const io::Account user{"user", "", "", "", "billed"},
      account{"service account", "", "", "own", ""};
  const auto found = [](const io::Account& who) {
    const Project project = google_project(who);
    return str(project.name, " (", project.source, ")");
  };
  EXPECT_EQ(google_project({}).name, "");
  EXPECT_EQ(found(user), "billed (quota_project_id)");
  const std::string folder = home_.dir.file(".config/gcloud/");
  io::write_file(folder + "configurations/config_default",
                 "[compute]\nproject = wrong\n[core]\naccount = x\nproject = first\n");
  EXPECT_EQ(found(user), "first (gcloud's configuration default)");
  io::write_file(folder + "configurations/config_work", "[core]\nproject = second\n");
  io::write_file(folder + "active_config", "work\n");
  EXPECT_EQ(found(user), "second (gcloud's configuration work)");
  EXPECT_EQ(found(account), "own (the credentials)");
  const ScopedVariable core("CLOUDSDK_CORE_PROJECT", "third");
  EXPECT_EQ(found(account), "third (CLOUDSDK_CORE_PROJECT)");
  const ScopedVariable cloud("GOOGLE_CLOUD_PROJECT", "fourth");
  EXPECT_EQ(found(account), "fourth (GOOGLE_CLOUD_PROJECT)");
}

// Tests each kind of credentials with servers that return a token, refuse it, redirect, return
// invalid responses, or echo the request.
TEST_F(WhoamiTest, NeverPrintsSecrets) {
  const std::string key = make_rsa_key(home_.dir.file("key.pem"));
  std::vector<std::string> planted{"PLANTED", "UExBTlRFR", "BMQU5URU", key.substr(100, 40)};
  io::write_file(home_.dir.file("subject"), "PLANTED-subject");
  google_.answer("/subject?k=PLANTED", {200, "PLANTED-subject"});
  const std::vector<Json> files{google_.user(),
                                google_.foreign_user(),
                                google_.impersonated(),
                                google_.external({{"file", home_.dir.file("subject")}}),
                                google_.external({{"url", google_.url("subject?k=PLANTED")}}),
                                google_.service_account(key),
                                google_.service_account("PLANTED" + key)};
  const std::vector<ServedAnswer> faults{
      {200, R"({"access_token": "PLANTED-access", "expires_in": 3599})"},
      {400, R"({"error": "invalid_grant", "error_description": "ECHO"})"},
      {403, R"({"error": {"status": "DENIED", "message": "ECHO"}})"},
      {200, "ECHO"},
      {200, R"({"access_token": "PLANTED\nX: y", "expires_in": 3599})"},
      {307, "", {"Location: https://evil.example/?k=PLANTED"}},
      {307, "", {"Location: /elsewhere?k=PLANTED"}}};
  int hidden = 0;
  for (const Json& file : files)
    for (const ServedAnswer& fault : faults) {
      home_.name_file(file);
      google_.answer("/token", fault);
      const CommandOutput said = run_smelt("cloud whoami");
      for (const std::string& secret : planted)
        EXPECT_THAT(said.text, Not(HasSubstr(secret))) << file["type"] << fault.body;
      EXPECT_LE(said.status, 2) << said.text;
      hidden += said.text.find("[secret]") == std::string::npos ? 0 : 1;
    }
  EXPECT_EQ(hidden, 12);  // in two echoed responses for each of six kinds of credentials
}

}  // namespace
}  // namespace smelt::cloud
