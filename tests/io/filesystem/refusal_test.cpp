// Error messages for a store that denies access: they name bucket, object, identity and permission.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/object_store_test.h"
#include "support/environment.h"
#include "support/oracle.h"
#include "support/server_process.h"

namespace smelt::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StoreErrorTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_ORACLE(); }
  // Returns a path on a server that responds to every request with `status`.
  std::string refused(const std::string& path, int status) {
    const int port = free_port();
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{
            oracle_python(), source_path("tests/io/filesystem/refusing_server.py"),
            std::to_string(port), std::to_string(status), dir_.file("requests")},
        port, dir_.file("log"));
    return str(path, "?scheme=http&endpoint_override=127.0.0.1:", port);
  }

  const TempDir dir_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(StoreErrorTest, ReportsTheMissingPermissionOfEachAction) {
  const std::string path = refused("gs://anonymous@bucket/dir/x", 403);
  const std::string who =
      " on bucket 'bucket', object 'dir/x' is denied to anonymous (gs://anonymous@…): ";
  EXPECT_THAT(message_of([&] { read_file(path); }),
              AllOf(HasSubstr("open: gs://bucket/dir/x: permission storage.objects.get" + who),
                    HasSubstr("the store's own words"),
                    HasSubstr("hint: run 'gcloud auth application-default login'")));
  EXPECT_THAT(message_of([&] { write_file(path, ""); }),
              HasSubstr("write: gs://bucket/dir/x: permission storage.objects.create (and "
                        "storage.objects.delete where "
                        "it exists)" +
                        who));
  EXPECT_THAT(message_of([&] { list_folder(path); }),
              HasSubstr("permission storage.objects.list" + who));
  EXPECT_THAT(message_of([&] { remove_file(path); }),
              HasSubstr("permission storage.objects.delete" + who));
  EXPECT_THAT(message_of([&] { exists(path); }), HasSubstr("permission storage.objects.get" + who));
  EXPECT_THROW(read_file(path), UsageError);
}

TEST_F(StoreErrorTest, NamesTheServiceAccountAndTheCommandThatGrantsAccess) {
  const std::string key = dir_.file("key.json");
  const CommandOutput made =
      run_oracle(str(source_path("tests/io/filesystem/make_account_key.py"), " ", key));
  ASSERT_EQ(made.status, 0) << made.text;
  const ScopedVariable credentials("GOOGLE_APPLICATION_CREDENTIALS", key);
  const std::string message = message_of([&] { read_file(refused("gs://bucket/x", 403)); });
  EXPECT_THAT(
      message,
      HasSubstr(str("permission storage.objects.get on bucket 'bucket', object 'x' is denied to "
                    "service account builder@p.iam.gserviceaccount.com (",
                    key, ")")));
  EXPECT_THAT(message, HasSubstr("hint: gcloud storage buckets add-iam-policy-binding gs://bucket "
                                 "--member=serviceAccount:builder@p.iam.gserviceaccount.com "
                                 "--role=roles/storage.objectViewer"));
  EXPECT_THAT(read_file(dir_.file("requests")), HasSubstr("/b/bucket/o/x Bearer"));
  EXPECT_THAT(message, Not(HasSubstr("Bearer")));
}

TEST_F(StoreErrorTest, ReportsHttp401AsADeniedPermission) {
  EXPECT_THAT(
      message_of([&] { read_file(refused("gs://anonymous@bucket/x", 401)); }),
      HasSubstr(
          "permission storage.objects.get on bucket 'bucket', object 'x' is denied to anonymous"));
}

TEST_F(StoreErrorTest, AnInvalidNameIsAUsageError) {
  const std::string path = refused("gs://anonymous@bucket/x", 400);
  EXPECT_THAT(message_of([&] { read_file(path); }),
              HasSubstr("open: gs://bucket/x: the store's own words\n  hint: check the names of "
                        "the bucket and the object"));
  EXPECT_THROW(read_file(path), UsageError);
}

TEST_F(StoreErrorTest, AFailingServerIsASystemError) {
  EXPECT_THROW(read_file(refused("gs://anonymous@bucket/x", 500)), SystemError);
}

}  // namespace
}  // namespace smelt::io
