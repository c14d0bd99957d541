// Which servers may get credentials. A path, and so a server, may come from anyone.
#include "io/filesystem/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/environment.h"
#include "support/error_of.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

std::string why_not(const std::string& path) { return endpoint_of(parse_remote(path)).no_secrets; }
std::string refusal_of(const std::string& path) {
  return error_of([&] { endpoint_of(parse_remote(path)); });
}

class EndpointTest : public testing::Test {
 private:
  const ScopedVariable emulator_{"CLOUD_STORAGE_EMULATOR_ENDPOINT"};
  const ScopedVariable trusted_{"SMELT_TRUSTED_ENDPOINTS"};
};

TEST_F(EndpointTest, SendsCredentialsToTheProvidersServersAndLocalhost) {
  for (const char* path :
       {"gs://b/k", "gs://b/k?endpoint_override=storage.googleapis.com",
        "gs://b/k?endpoint_override=storage.me-central2.rep.googleapis.com",
        "gs://b/k?scheme=http&endpoint_override=127.0.0.1:9023", "s3://b/k", "s3://b/k?region=x-1",
        "s3://b/k?endpoint_override=s3.eu-west-1.amazonaws.com:443",
        "s3://b/k?scheme=http&endpoint_override=localhost:9000",
        "s3://b/k?endpoint_override=[::1]:9"})
    EXPECT_EQ(why_not(path), "") << path;
}

TEST_F(EndpointTest, SendsNoCredentialsToUntrustedServers) {
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "10.0.0.1:9000",
        "storage.googleapis.com.evil.example", "googleapis.com.evil.example",
        "ec2-1-2-3-4.compute-1.amazonaws.com", "x.elb.amazonaws.com",
        "s3-mine-1234567890.us-east-1.elb.amazonaws.com", "0.0.0.0:80"})
    for (const char* scheme : {"gs", "s3"}) {
      const std::string path = str(scheme, "://b/k?endpoint_override=", host);
      EXPECT_EQ(
          why_not(path),
          str(host, " in the path is not a trusted server, so no credentials are sent to it"));
      const ScopedVariable trusted("SMELT_TRUSTED_ENDPOINTS", str("a.example,", host));
      EXPECT_EQ(why_not(path), "");
    }
  EXPECT_EQ(why_not("gs://b/k?scheme=http"), "secrets are not sent over http");
  const ScopedVariable trusted("SMELT_TRUSTED_ENDPOINTS", "Minio.Example");
  EXPECT_EQ(why_not("s3://b/k?endpoint_override=minio.example:9000"), "");
}

TEST_F(EndpointTest, RejectsAmbiguousEndpointOptions) {
  for (const char* option :
       {"endpoint_override=127.0.0.1:80@evil.example", "endpoint_override=127.0.0.1/../evil",
        "endpoint_override=localhost:80#evil.example", "endpoint_override=", "scheme=ftp",
        "region=evil.example/", "tls_verify_certificates=false"})
    EXPECT_NE(refusal_of(str("s3://b/k?", option)), "no error") << option;
  EXPECT_THAT(refusal_of("s3://b/k?region=evil.example/"),
              HasSubstr("path: s3://b/k?region=evil.example/: option region=evil.example/\n  hint: "
                        "options are scheme=http or https, region=NAME, and endpoint_override="));
}

TEST_F(EndpointTest, SendsNoCredentialsToTheEmulator) {
  const ScopedVariable emulator("CLOUD_STORAGE_EMULATOR_ENDPOINT", "http://127.0.0.1:9023/");
  const Endpoint endpoint = endpoint_of(parse_remote("gs://b/k"));
  EXPECT_EQ(endpoint.options(), "?scheme=http&endpoint_override=127.0.0.1:9023");
  EXPECT_EQ(endpoint.no_secrets, "CLOUD_STORAGE_EMULATOR_ENDPOINT is set");
  EXPECT_EQ(why_not("s3://b/k"), "");
}

}  // namespace
}  // namespace smelt::io
