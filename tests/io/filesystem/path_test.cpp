#include "io/filesystem/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::string& path) {
  try {
    static_cast<void>(is_remote(path) ? parse_remote(path).bucket : "");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Path, JoinInsertsNamesBeforeTheOptions) {
  EXPECT_EQ(join_path("a/b", "c"), "a/b/c");
  EXPECT_EQ(join_path("a/b/", "c"), "a/b/c");
  EXPECT_EQ(join_path("", "c"), "c");
  EXPECT_EQ(join_path("/", "c"), "/c");
  EXPECT_EQ(join_path("a?b=c", "d"), "a?b=c/d");
  EXPECT_EQ(join_path("gs://b", "c"), "gs://b/c");
  EXPECT_EQ(join_path("gs://b/d?scheme=http&endpoint_override=h:1", "c/e"),
            "gs://b/d/c/e?scheme=http&endpoint_override=h:1");
  EXPECT_EQ(append_to_path("gs://b/d?scheme=http", ".json"), "gs://b/d.json?scheme=http");
  EXPECT_EQ(append_to_path("d", ".json"), "d.json");
}

TEST(Path, PathNameDropsSlashesAndOptions) {
  EXPECT_EQ(path_name("a/b.txt"), "b.txt");
  EXPECT_EQ(path_name("b.txt"), "b.txt");
  EXPECT_EQ(path_name("a/b/"), "b");
  EXPECT_EQ(path_name("s3://bucket/a/b.txt?region=x"), "b.txt");
}

TEST(Path, ParentAndNameJoinToThePath) {
  for (const char* path : {"a/b/c", "c", "/c", "gs://b/c", "gs://b/d/c?scheme=http", "./c"})
    EXPECT_EQ(join_path(parent_path(path), path_name(path)), path);
  EXPECT_EQ(parent_path("gs://b/d/c?scheme=http"), "gs://b/d?scheme=http");
  EXPECT_EQ(parent_path("/c"), "/");
}

TEST(Path, ParsesAnObjectStorePath) {
  const RemotePath path = parse_remote("gs://anonymous@bucket/a b/c%20d.txt?scheme=http");
  EXPECT_EQ(path.scheme, "gs");
  EXPECT_EQ(path.user, "anonymous");
  EXPECT_EQ(path.bucket, "bucket");
  EXPECT_EQ(path.key, "a b/c%20d.txt");
  EXPECT_EQ(path.options, "?scheme=http");
  EXPECT_EQ(path.with_key("z"), "gs://anonymous@bucket/z?scheme=http");
  EXPECT_EQ(parse_remote("s3://bucket").key, "");
  EXPECT_EQ(parse_remote("s3://bucket//x//").key, "x");
}

TEST(Path, AQuestionMarkIsAWildcardUnlessOptionsFollow) {
  EXPECT_EQ(parse_remote("gs://b/x-00??"
                         "?-of-00500")
                .key,
            "x-00??"
            "?-of-00500");
  EXPECT_EQ(parse_remote("gs://b/x-00??"
                         "?-of-00500?scheme=http")
                .key,
            "x-00??"
            "?-of-00500");
  EXPECT_EQ(parse_remote("gs://b/day=?/x").key, "day=?/x");
  EXPECT_EQ(parse_remote("gs://b/a?/day=1").key, "a?/day=1");
}

constexpr const char* kOddKeys[] = {"index.html?lang=en",
                                    "a&token=1.txt",
                                    "d/b?scheme=http",
                                    "x?=",
                                    "x?=&region=y",
                                    "wiki [1].txt",
                                    "/x",
                                    "folder/",
                                    "?secret_key=a",
                                    "a?b?",
                                    "day=1/part-?",
                                    "x@y:z"};

TEST(Path, ListedKeysRoundTrip) {
  for (const char* folder : {"gs://b", "gs://anonymous@b/?scheme=http&endpoint_override=h:1"})
    for (const std::string key : kOddKeys) {
      const RemotePath bucket = parse_remote(folder);
      const RemotePath path = parse_remote(bucket.with_key(key));
      EXPECT_EQ(path.key, key);
      EXPECT_EQ(path.bucket, "b");
      EXPECT_EQ(path.options, bucket.options);
      EXPECT_EQ(parse_remote(path.literal()).key, key);
    }
  EXPECT_EQ(parse_remote("gs://b").with_key("a/b.txt"), "gs://b/a/b.txt");
  EXPECT_EQ(parse_remote("gs://b").with_key("a?x=1"), "gs://b/a?x=1?=");
}

TEST(Path, JoinedKeysRoundTrip) {
  for (const std::string folder : {"gs://b/d", "gs://b/d?scheme=http", "gs://b/d?x?="})
    for (const std::string key : {"index.html?lang=en", "a&token=1.txt", "x?=", "b?scheme=http"}) {
      const std::string path = join_path(folder, key);
      EXPECT_EQ(parse_remote(path).key, str(parse_remote(folder).key, "/", key)) << path;
      EXPECT_EQ(parse_remote(path).options, parse_remote(folder).options) << path;
      EXPECT_EQ(path_name(path), key);
      EXPECT_EQ(join_path(parent_path(path), path_name(path)), path);
      EXPECT_EQ(parse_remote(append_to_path(path, ".json")).key, parse_remote(path).key + ".json");
    }
}

TEST(Path, RejectsCredentialsInAJoinedPath) {
  EXPECT_THAT(refusal(join_path("gs://b/d?secret_key=SECRET", "x")), HasSubstr("credentials"));
  EXPECT_THAT(refusal(join_path("gs://b/d&token=SECRET/e", "x")), HasSubstr("credentials"));
}

TEST(Path, RecognizesLocalPaths) {
  for (const char* path : {"a", "/a/b", "./a://b", "C:/x", "gs:/b", "://x", ""})
    EXPECT_FALSE(is_remote(path)) << path;
}

TEST(Path, RejectsAnUnknownStorageScheme) {
  EXPECT_THAT(refusal("https://host/x"),
              HasSubstr("path: https://…: unknown storage scheme 'https'"));
  EXPECT_THAT(refusal("https://host/x"),
              HasSubstr("hint: give a local path, gs://bucket/…, s3://bucket/… or "
                        "hf://ORGANIZATION/NAME/…"));
}

TEST(Path, RejectsAMissingBucket) {
  EXPECT_THAT(refusal("gs://"), HasSubstr("path: gs://: the bucket is missing"));
  EXPECT_THAT(refusal("s3:///key"), HasSubstr("the bucket is missing"));
}

TEST(Path, RejectsCredentialsWithoutPrintingThem) {
  for (const char* path : {"s3://AKIA1:SECRET@bucket/key", "gs://SECRET@bucket/key"}) {
    EXPECT_THAT(refusal(path), HasSubstr("://…: a path must not contain credentials"));
    EXPECT_THAT(refusal(path), Not(HasSubstr("SECRET")));
    EXPECT_THAT(refusal(path), Not(HasSubstr("AKIA1")));
  }
  EXPECT_THAT(refusal("s3://bucket/key?region=x&secret_key=SECRET"),
              HasSubstr("path: s3://bucket/key?region=x?…: a path must not contain credentials"));
}

// Whatever a user pastes as a path, no part of a secret in it may be printed.
TEST(Path, PrintsNoPartOfASecretWithSpecialCharacters) {
  for (const char* secret : {"SECRET", "SEC/RET", "/SEC/RET/", "SEC+RET=", "SEC@RET", "SEC?a=RET",
                             "SEC:RET", "SEC/RET?x=SEC/RET"})
    for (const std::string& path :
         {str("s3://AKIA1:", secret, "@bucket/key"), str("s3://AKIA1:", secret, "@bucket/a@b"),
          str("s3://AKIA1:", secret), str("s3://", secret, "@bucket/key"),
          str("gs://user:", secret, "@bucket/key"), str("gs://anonymous:", secret, "@bucket/key"),
          str("s3://bucket/key?secret_key=", secret), str("s3://bucket/key?accessKey=", secret),
          str("s3://bucket/key?session_token=", secret, "&region=x"),
          str("gs://bucket/key?X-Goog-Signature=", secret), str("s3:///AKIA1:", secret, "@bucket"),
          str("S3://AKIA1:", secret, "@bucket/key"), str("s3a://AKIA1:", secret, "@bucket/key")}) {
      const std::string said = refusal(path);
      EXPECT_NE(said, "accepted") << path;
      EXPECT_THAT(said, Not(HasSubstr("SEC"))) << path;
      EXPECT_THAT(said, Not(HasSubstr("RET"))) << path;
      EXPECT_THAT(said, Not(HasSubstr("AKIA1"))) << path;
    }
}

TEST(Path, AllowsAnAtSignInAKey) {
  EXPECT_EQ(parse_remote("s3://bucket.a-b_c/x@y:z/k").key, "x@y:z/k");
  EXPECT_EQ(parse_remote("gs://anonymous@bucket/x@y").key, "x@y");
  EXPECT_EQ(parse_remote("gs://Bucket/x").bucket, "Bucket");
}

}  // namespace
}  // namespace smelt::io
