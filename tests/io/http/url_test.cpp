#include "io/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/http/secret.h"
#include "support/error_of.h"

namespace smelt::io {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
static_assert(!Printable<Secret> && Printable<std::string>);

TEST(Url, ParsesAndFormatsUrls) {
  const Url url = parse_url("https://a.example:8443/b/c?d=e&f", "x");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "a.example:8443");
  EXPECT_EQ(url.path, "/b/c");
  EXPECT_EQ(url.query, "d=e&f");
  EXPECT_EQ(url.text(), "https://a.example:8443/b/c?d=e&f");
  EXPECT_EQ(url.shown(), "https://a.example:8443/b/c");
  EXPECT_EQ(parse_url("http://[::1]:80", "x").text(), "http://[::1]:80/");
}

TEST(Url, RejectsInvalidUrlsWithoutPrintingThem) {
  for (const char* text :
       {"", "PLANTED", "ftp://a.example/PLANTED", "file:///PLANTED", "https://PLANTED@a.example/",
        "https://:PLANTED@a.example/", "/PLANTED", "https://a b/PLANTED"})
    EXPECT_EQ(error_of<UsageError>([&] { parse_url(text, "file.json: token_uri"); }),
              "file.json: token_uri: must be an http or https URL without a user name\n"
              "  hint: write it as https://HOST/PATH")
        << text;
}

TEST(Url, ResolvesLocations) {
  const Url base = parse_url("https://a.example/b/c?d", "x");
  EXPECT_EQ(resolve_url(base, "e").text(), "https://a.example/b/e");
  EXPECT_EQ(resolve_url(base, "/e?f").text(), "https://a.example/e?f");
  EXPECT_EQ(resolve_url(base, "//other.example/").host, "other.example");
  EXPECT_FALSE(resolve_url(base, "http://a.example/").same_server(base));
  EXPECT_THROW(resolve_url(base, "gopher://a.example/"), SystemError);
}

TEST(Url, EncodesFormFields) {
  EXPECT_EQ(form_of({{"a", "x y&z=1/2"}, {"b", "\xc3\xa9~"}}), "a=x%20y%26z%3D1%2F2&b=%C3%A9~");
}

TEST(Secret, IsEmptyAfterAMove) {
  Secret first("a secret long enough to lie on the heap"), second("short");
  second = std::move(first);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(second.reveal(), "a secret long enough to lie on the heap");
}

}  // namespace
}  // namespace smelt::io
