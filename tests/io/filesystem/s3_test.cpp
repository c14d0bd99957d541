// Tests s3:// with an emulator and compares with Amazon's own client. ctest runs each test in a
// separate process. A test fails if this process crashes at exit, as it does if Amazon's library
// was not shut down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/object_store_test.h"
#include "io/filesystem/remote_file.h"
#include "io/filesystem/s3_patience.h"
#include "support/environment.h"
#include "support/oracle.h"
#include "support/server_process.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

class S3Test : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{oracle_python(), "-m", "moto.server", "-H", "127.0.0.1", "-p",
                                 std::to_string(port_)},
        port_, dir_.file("log"));
    client("make");
  }
  std::string at(std::string_view key, std::string_view bucket = "bucket") const {
    return str("s3://", bucket, "/", key,
               "?region=us-east-1&scheme=http&endpoint_override=127.0.0.1:", port_);
  }
  // Runs s3_client.py with Amazon's client and returns its output.
  std::string client(const std::string& arguments) const {
    const CommandOutput output =
        run_oracle(str(source_path("tests/io/filesystem/s3_client.py"), " http://127.0.0.1:", port_,
                       " bucket ", arguments));
    EXPECT_EQ(output.status, 0) << output.text;
    return output.text;
  }

  const TempDir dir_;
  const int port_ = free_port();
  const ScopedVariable home_{"HOME", dir_.path()};
  const ScopedVariable id_{"AWS_ACCESS_KEY_ID", "AKIATEST"},
      key_{"AWS_SECRET_ACCESS_KEY", "SECRET"};
  std::unique_ptr<ServerProcess> server_;
};

// All in one test, because the emulator takes seconds to start.
TEST_F(S3Test, MeetsTheRequirementsOfEveryObjectStore) {
  const std::pair<const char*, std::function<void()>> kParts[] = {
      {"what is written is read back", [&] { expect_round_trips(at("")); }},
      {"any range is read from any thread", [&] { expect_ranged_reads(at("ranges")); }},
      {"lists and patterns are the originals'", [&] { expect_patterns(at("patterns")); }},
      {"folders are listed and removed", [&] { expect_folders(at("folders")); }},
      {"nothing is seen without commit", [&] { expect_nothing_without_commit(at("commit")); }}};
  for (const auto& [name, expect] : kParts) {
    SCOPED_TRACE(name);
    expect();
  }
}

TEST_F(S3Test, ListsOneFolderLevelAndReportsMissingObjects) {
  write_file(at("data/far/below/x"), "");
  write_file(at("data/y"), "");
  EXPECT_EQ(list_folder(at("data")), (std::vector<std::string>{"far", "y"}));
  EXPECT_THAT(read_file(dir_.file("log")),
              HasSubstr("GET /bucket?delimiter=/&list-type=2&max-keys=1000&prefix=data/ "));
  EXPECT_THAT(
      message_of([&] { read_file(at("dir/x")); }),
      HasSubstr(
          "open: s3://bucket/dir/x: bucket 'bucket' has no object 'dir/x', accessed as the key in "
          "AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(message_of([&] { read_file(at("x", "other")); }),
              HasSubstr("open: s3://other/x: no bucket 'other'"));
  EXPECT_THAT(message_of([&] { write_file(at("x", "other"), ""); }),
              HasSubstr("write: s3://other/x: no bucket 'other'"));
  EXPECT_THROW(read_file(at("x", "other")), UsageError);
}

TEST_F(S3Test, UploadsInPartsAndRejectsTooManyParts) {
  const std::string bytes = test_bytes((25 << 20) + 3, 3);
  write_file(at("big/one"), bytes);
  EXPECT_EQ(client("list"), str("big/one ", bytes.size(), "\n"));
  client(str("get big/one ", dir_.file("got")));
  EXPECT_TRUE(read_file(dir_.file("got")) == bytes);
  EXPECT_EQ(most_object_bytes("s3://bucket/x"), std::uint64_t{10000} * (10 << 20));
  RemoteWriter writer(at("big"), 3);
  writer.write("abc");
  EXPECT_THAT(message_of([&] { writer.write("d"); }),
              HasSubstr("more bytes than the maximum size of an object that is uploaded in parts\n "
                        " hint: split the data into several files, for examples with --shards"));
}

TEST_F(S3Test, UsesEndpointAndRegionOfTheEnvironment) {
  const ScopedVariable endpoint("AWS_ENDPOINT_URL", str("http://127.0.0.1:", port_)),
      region("AWS_REGION", "us-east-1");
  write_file("s3://bucket/by/environment", "x");
  EXPECT_EQ(client("list"), "by/environment 1\n");
  EXPECT_EQ(read_file("s3://bucket/by/environment"), "x");
}

class S3ErrorTest : public S3Test {
 protected:
  void SetUp() override { REQUIRE_ORACLE(); }
  // Returns a path on a server that responds to every request with `status`.
  std::string refused(int status) {
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{
            oracle_python(), source_path("tests/io/filesystem/refusing_server.py"),
            std::to_string(port_), std::to_string(status), dir_.file("requests")},
        port_, dir_.file("log"));
    return at("dir/x");
  }
};

TEST_F(S3ErrorTest, ReportsTheMissingPermission) {
  const std::string path = refused(403);
  const std::string who =
      " on bucket 'bucket', object 'dir/x' is denied to the key in AWS_ACCESS_KEY_ID: ";
  EXPECT_THAT(message_of([&] { read_file(path); }),
              HasSubstr("open: s3://bucket/dir/x: permission s3:GetObject" + who));
  EXPECT_THAT(message_of([&] { write_file(path, ""); }),
              HasSubstr("permission s3:PutObject" + who));
  EXPECT_THAT(message_of([&] { list_folder(path); }), HasSubstr("permission s3:ListBucket" + who));
  EXPECT_THAT(message_of([&] { read_file(path); }), testing::Not(HasSubstr("SECRET")));
}

TEST_F(S3ErrorTest, ReportsTheErrorCodeForALongName) {
  refused(403);
  EXPECT_THAT(message_of([&] { read_file(at(std::string(400, 'k'))); }),
              HasSubstr("AWS Error ACCESS_DENIED"));
}

// 0.0.0.0 is this machine, too, but does not count as a trusted address.
TEST_F(S3ErrorTest, SendsNoCredentialsToAnUntrustedServerInThePath) {
  refused(403);
  const std::string host = str("0.0.0.0:", port_);
  const auto path = [&](std::string_view bucket) {
    return str("s3://", bucket, "/x?region=us-east-1&scheme=http&endpoint_override=", host);
  };
  const std::string message = message_of([&] { read_file(path("bucket")); });
  EXPECT_THAT(
      message,
      HasSubstr(str("is denied to anonymous (", host,
                    " in the path is not a trusted server, so no credentials are sent to it): ")));
  EXPECT_THAT(message, HasSubstr(str("\n  hint: if the server is trusted, set "
                                     "SMELT_TRUSTED_ENDPOINTS=",
                                     host)));
  EXPECT_THAT(read_file(dir_.file("requests")), testing::Not(HasSubstr("AWS4")));
  EXPECT_THAT(read_file(dir_.file("requests")), HasSubstr("/bucket/x nobody"));
  const ScopedVariable trusted("SMELT_TRUSTED_ENDPOINTS", "elsewhere, " + host);
  EXPECT_THAT(message_of([&] { read_file(path("second")); }),
              HasSubstr("is denied to the key in AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(read_file(dir_.file("requests")), HasSubstr("AWS4-HMAC-SHA256"));
}

// Arrow's own retry strategy would send thirty.
TEST_F(S3ErrorTest, SendsOnlyFiveRequestsToAFailingServer) {
  const std::string path = refused(503);
  EXPECT_THROW(read_file(path), SystemError);
  EXPECT_EQ(split(read_file(dir_.file("requests")), '\n').size(), 5u + 1);
}

TEST(S3Patience, RetriesForTwoMinutes) {
  S3Patience patience(120);
  arrow::fs::S3RetryStrategy::AWSErrorDetail error{
      .error_type = 0, .message = "", .exception_name = "", .should_retry = true};
  std::int64_t waited = 0, retries = 0;
  while (patience.ShouldRetry(error, retries))
    waited += patience.CalculateDelayBeforeNextRetry(error, retries++);
  EXPECT_EQ(waited, 122'600);  // 0.2, 0.4, … 6.4 and eleven times 10 seconds
  EXPECT_EQ(retries, 6 + 11);
  error.should_retry = false;
  EXPECT_FALSE(patience.ShouldRetry(error, 0));
}

TEST_F(S3ErrorTest, ReportsABucketOfAnotherRegion) {
  const std::string message = message_of([path = refused(301)] { read_file(path); });
  EXPECT_THAT(message,
              HasSubstr("open: s3://bucket/dir/x: bucket 'bucket' is in another region: "));
  EXPECT_THAT(message,
              HasSubstr("hint: give its region: s3://bucket/…?region=…, or set AWS_REGION"));
}

}  // namespace
}  // namespace smelt::io
