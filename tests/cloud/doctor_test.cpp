#include "cloud/doctor.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "cloud/tpu_test.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DoctorTest : public TpuTest {
 protected:
  void SetUp() override {
    google_.answer("/storage/v1/b/near", {200, R"({"location": "US-CENTRAL1"})"});
    google_.answer("/storage/v1/b/far", {200, R"({"location": "EUROPE-WEST4"})"});
    google_.answer("/storage/v1/b/none", {404, R"({"error": {"code": 404, "message": "no"}})"});
  }
  std::vector<DoctorCheck> ask(const DoctorRequest& asked) {
    return examine(asked, [this] { return connect(); });
  }
  // Returns the result of a check and its remedy.
  std::string said(const std::vector<DoctorCheck>& checks, const std::string& what) {
    for (const DoctorCheck& check : checks)
      if (check.what == what)
        return str(check.good ? "ok: " : "wrong: ", check.said, " | ", check.remedy);
    return "not looked at";
  }
  std::string bucket(const std::string& name) {
    return said(ask({"p", "v3-8", {kZone}, "gs://" + name, ""}), "bucket");
  }

  const ScopedVariable storage_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", google_.url("")};
};

TEST_F(DoctorTest, ReportsAllProblemsAtOnceWithRemedies) {
  const auto checks =
      ask({"p", "v4-8", {kZone, "us-central1-x", "here"}, "gs://far/run", home_.file()});
  EXPECT_THAT(said(checks, "credentials"), HasSubstr("ok: "));
  EXPECT_EQ(said(checks, "TPU API"), "ok: 3 zones | ");
  EXPECT_THAT(said(checks, "zone us-central1-a"),
              AllOf(HasSubstr("wrong: us-central1-a has no v4-8"), HasSubstr("v3-8")));
  EXPECT_THAT(said(checks, "zone us-central1-x"), HasSubstr("did you mean 'us-central1-a'?"));
  EXPECT_THAT(said(checks, "zone here"), HasSubstr("smelt cloud locations"));
  EXPECT_THAT(said(checks, "bucket"),
              AllOf(HasSubstr("wrong: bucket far is in europe-west4, the machine in us-central1-a"),
                    HasSubstr("smelt storage mb -p p -l us-central1 gs://NAME")));
  EXPECT_THAT(said(checks, "package"),
              AllOf(HasSubstr("is not a package"), HasSubstr("--package")));
}

TEST_F(DoctorTest, ChecksThatABucketExistsIsNearAndWritable) {
  EXPECT_THAT(bucket("none"), AllOf(HasSubstr("wrong: there is no bucket none"),
                                    HasSubstr("storage mb -p p -l us-central1 gs://none")));
  EXPECT_THAT(said(ask({"p", "", {}, "/tmp", ""}), "bucket"), HasSubstr("--bucket gs://NAME"));
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const ScopedVariable there("CLOUD_STORAGE_EMULATOR_ENDPOINT", "http://" + emulator.endpoint());
  google_.answer("/storage/v1/b/bucket", {200, R"({"location": "EU"})"});
  EXPECT_THAT(bucket("bucket"), HasSubstr("or --far-bucket to use it anyway"));
  EXPECT_EQ(
      said(ask({"p", "v3-8", {kZone}, "gs://bucket", "", "", "", true}), "bucket"),
      "ok: bucket in eu, is writable; far from us-central1-a: traffic is slow and costs money | ");
  EXPECT_EQ(said(ask({"p", "v3-8", {kZone, "europe-west4-a"}, "gs://bucket", ""}), "bucket"),
            "ok: bucket in eu, is writable; far from us-central1-a: traffic is slow and costs "
            "money; remove them from --zone | ");
  google_.answer("/storage/v1/b/bucket", {200, R"({"location": "US", "projectNumber": "1"})"});
  EXPECT_EQ(bucket("bucket"), "ok: bucket in us, is writable | ");
  google_.answer("/storage/v1/b/bucket", {403, R"({"error": {"code": 403, "message": "no"}})"});
  EXPECT_THAT(bucket("bucket"), HasSubstr("ok: bucket, is writable; its location is not"));
  // The role of the machine's service account on the bucket, if the user may see it.
  const auto account = [&](const std::string& name) {
    return said(ask({"p", "", {}, "gs://bucket", "", name}), "machine's account");
  };
  EXPECT_EQ(account(""), "not looked at");
  google_.answer("/storage/v1/b/bucket", {200, R"({"location": "US", "projectNumber": "1"})"});
  google_.answer("/storage/v1/b?project=p&maxResults=1",
                 {200, R"({"items": [{"name": "other", "projectNumber": "7"}]})"});
  EXPECT_THAT(account(""), HasSubstr("ok: 7-compute@developer.gserviceaccount.com: you cannot see "
                                     "the access policy of bucket; its project"));
  google_.answer("/storage/v1/b/bucket/iam", {200, R"({"bindings": [
      {"role": "roles/storage.objectViewer", "members": ["serviceAccount:reads@x"]},
      {"role": "roles/storage.objectUser", "members": ["user:me", "serviceAccount:writes@x"]}]})"});
  EXPECT_EQ(account("writes@x"), "ok: writes@x has roles/storage.objectUser on bucket | ");
  EXPECT_THAT(account("reads@x"),
              AllOf(HasSubstr("ok: reads@x has no direct role on bucket; its project"),
                    HasSubstr("--member=serviceAccount:reads@x")));
  // Whether the roles of this service account let the machine delete itself.
  const auto rights = [&](const std::string& name) {
    return said(ask({"p", "", {}, "gs://bucket", "", name}), "machine's rights");
  };
  EXPECT_THAT(rights("writes@x"), HasSubstr("ok: writes@x: you cannot see its roles in p; whether "
                                            "its machine may delete itself is checked"));
  google_.answer("/v1/projects/p:getIamPolicy", {403, R"({"error": {"code": 403, "message": "no",
      "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                   "reason": "SERVICE_DISABLED"}]}})"});
  EXPECT_THAT(
      rights("writes@x"),
      HasSubstr(
          "ok: cannot check the roles of writes@x because the Cloud Resource Manager API is "
          "disabled: gcloud services enable cloudresourcemanager.googleapis.com --project=p"));
  google_.answer("/v1/projects/p:getIamPolicy", {200, R"({"bindings": [
      {"role": "roles/tpu.viewer", "members": ["serviceAccount:writes@x"]},
      {"role": "roles/tpu.admin", "members": ["user:me", "serviceAccount:goes@x"]}]})"});
  EXPECT_EQ(rights("goes@x"),
            "ok: goes@x has roles/tpu.admin, and its machine may delete itself | ");
  EXPECT_THAT(
      rights("writes@x"),
      AllOf(HasSubstr("ok: writes@x has no direct role in p that lets its machine delete itself"),
            HasSubstr("--member=serviceAccount:writes@x --role=roles/tpu.admin")));
  google_.answer(
      "/storage/v1/b/bucket/iam/testPermissions?permissions=storage.objects.create&permissions="
      "storage.objects.delete&permissions=storage.objects.get&permissions=storage.objects.list",
      {200, R"({"permissions": ["storage.objects.get", "storage.objects.list"]})"});
  EXPECT_THAT(bucket("bucket"),
              AllOf(HasSubstr("wrong: bucket bucket: you lack storage.objects.create, "
                              "storage.objects.delete | "),
                    HasSubstr("--role=roles/storage.objectUser")));
  EXPECT_THAT(bucket("near"), HasSubstr("wrong: "));  // the emulator has no such bucket
}

TEST_F(DoctorTest, ChecksTheRestWithoutCredentials) {
  const auto checks = examine({"p", "", {}, "gs://near", "gone.tar.zst"}, []() -> GoogleApi {
    throw UsageError("credentials: none were found", "gcloud auth application-default login");
  });
  EXPECT_EQ(said(checks, "credentials"),
            "wrong: credentials: none were found | gcloud auth application-default login");
  EXPECT_EQ(said(checks, "bucket"), "not looked at");
  const auto wrong = examine({"p", "", {kZone, "here"}, "/tmp", ""},
                             []() -> GoogleApi { throw UsageError("none", ""); });
  EXPECT_THAT(said(wrong, "bucket"), HasSubstr("'/tmp' is not a Google Cloud Storage bucket"));
  EXPECT_THAT(said(wrong, "zone here"), HasSubstr("wrong: "));
  EXPECT_EQ(said(wrong, "zone us-central1-a"), "not looked at");
  EXPECT_THAT(said(checks, "OpenSSH"), HasSubstr("ok: "));
  EXPECT_THAT(said(checks, "package"), HasSubstr("package gone.tar.zst does not exist"));
}

TEST_F(DoctorTest, ReportsAKeyWithAPassphrase) {
  const ScopedVariable no_agent("SSH_AUTH_SOCK");
  EXPECT_EQ(said(ask({"p", "", {}, "", ""}), "OpenSSH"),
            "ok: ssh, scp and ssh-keygen are installed | ");
  const std::string key = home_.dir.file(".ssh/google_compute_engine");
  io::make_folders(home_.dir.file(".ssh"));
  const auto make = [&](const std::string& words) {
    run_command(str("rm -f ", key, "; ssh-keygen -q -t ed25519 -a 1 -N '", words, "' -f ", key));
    return said(ask({"p", "", {}, "", ""}), "OpenSSH");
  };
  EXPECT_THAT(make("words"), AllOf(HasSubstr("wrong: " + key + ": this key has a passphrase"),
                                   HasSubstr("| ssh-add " + key)));
  EXPECT_THAT(make(""), HasSubstr("ok: ssh, scp and ssh-keygen are installed, and the key " + key));
}

TEST_F(DoctorTest, ReportsAMissingQuotaProject) {
  EXPECT_EQ(said(ask({"p", "", {}, "", ""}), "quota project"), "not looked at");
  Json user = google_.user();
  user.erase("quota_project_id");
  fake_.requires_quota_project = true;
  const auto checks = examine({"p", "", {}, "", ""}, [&] {
    home_.name_file(user);
    return GoogleApi(TokenSource(io::google_credentials()));
  });
  EXPECT_THAT(
      said(checks, "quota project"),
      HasSubstr(
          "ok: the credentials have none: calls are counted against gcloud's own project, where "
          "some APIs are disabled | gcloud auth application-default set-quota-project p"));
  EXPECT_THAT(
      said(checks, "TPU API"),
      AllOf(HasSubstr("wrong: cloud: the zones of TPUs: Cloud TPU API has not been used"),
            HasSubstr("| gcloud auth application-default set-quota-project p, because these")));
}

TEST_F(DoctorTest, CommandExitsWithOneOnAProblem) {
  const std::string package = home_.dir.file("smelt.tar.zst");
  io::make_folders(home_.dir.file("smelt/bin"));
  io::write_file(home_.dir.file("smelt/bin/smelt"), "");
  run_command(str("cd ", home_.dir.path(), "; tar --zstd -cf smelt.tar.zst smelt"));
  const std::string common =
      "cloud doctor --project p --user me --zone us-central1-a --type v3-8 --package ";
  const CommandOutput good = run_smelt(common + package);
  EXPECT_EQ(good.status, 0) << good.text;
  EXPECT_THAT(good.text, AllOf(HasSubstr("ok     package             " + package + ", "),
                               HasSubstr("ok     user                me signs in"),
                               HasSubstr("ok     zone us-central1-a  has v3-8")));
  io::write_file(home_.dir.file("r.yaml"), "text: {input: gone.txt}\ntrain: {device: cpu}\n");
  const CommandOutput bad = run_smelt(common + "none.tar.zst " + home_.dir.file("r.yaml"));
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.text, AllOf(HasSubstr("wrong  recipe"), HasSubstr("gone.txt"),
                              HasSubstr("wrong  package"), Not(HasSubstr("PLANTED"))));
  const CommandOutput root = run_smelt("cloud doctor --user root");
  EXPECT_THAT(root.text, HasSubstr("cannot sign in to a machine as root"));
  io::write_file(package, "junk");
  EXPECT_THAT(run_smelt(common + package).text, HasSubstr("wrong  package"));
  run_command(str("cd ", home_.dir.path(), "; tar --zstd -cf smelt.tar.zst key.json"));
  EXPECT_THAT(run_smelt(common + package).text, HasSubstr("it has no smelt/bin/smelt"));
  run_command(str("cd ", home_.dir.path(), "; tar --zstd -cf smelt.tar.zst smelt"));
  const CommandOutput json = run_smelt(common + package + " --json");
  EXPECT_THAT(json.text, AllOf(HasSubstr(R"({"ok":true,"checks":[{"check":"credentials","ok":)"),
                               HasSubstr(R"("remedy":null)")));
}

TEST(Doctor, BucketOfAContinentIsNearItsZones) {
  EXPECT_TRUE(is_near("US", "us-central1-a"));
  EXPECT_FALSE(is_near("US", "europe-west4-a"));
  EXPECT_TRUE(is_near("EU", "europe-west4-a"));
  EXPECT_TRUE(is_near("US-CENTRAL1", "us-central1-f"));
  EXPECT_FALSE(is_near("US-CENTRAL1", "us-central2-b"));
  EXPECT_TRUE(is_near("NAM4", "us-central1-f"));
}

}  // namespace
}  // namespace smelt::cloud
