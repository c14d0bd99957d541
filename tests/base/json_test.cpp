// Compares Json with nlohmann::json, whose interface it has.
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/error_of.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Nlohmann = nlohmann::json;
using OrderedNlohmann = nlohmann::ordered_json;

// Texts that are JSON, and some that are not.
const std::vector<std::string>& json_texts() {
  static const std::vector<std::string> texts = {
      "null",
      "true",
      "-0",
      "0",
      "-5",
      "18446744073709551615",
      "-9223372036854775808",
      "123456789012345678901",
      "[1.0,1e20,1e-7,-0.0,0.1,3.4028234663852886e38,5e-324]",
      "\"\"",
      "\"a\\u0000\\u00e9\\n\\ud83d\\ude00\"",
      "[]",
      "{}",
      "[[],{},[{}]]",
      " [1 , 2]\n",
      "{\"b\":1,\"a\":{\"y\":[1,{\"z\":null}],\"x\":true}}",
      "{\"a\":1,\"a\":2}",
      "{\"\":0}",
      "{\"a/b\":{\"c~d\":1}}",
      "",
      " ",
      "nul",
      "[1,2",
      "[1,]",
      "{\"a\":}",
      "{a:1}",
      "[1] x",
      "1e999",
      "\"\\ud800\"",
      "\"\xff\"",
      "\"\n\"",
      "[01]",
      "\"\\x\"",
      "\xef\xbb\xbf[1]",
      "// c\n1"};
  return texts;
}

// Returns the printed value, or the text and position of the error.
std::string outcome(const std::string& text, int indent) {
  try {
    return Json::parse(text).dump(indent);
  } catch (const JsonParseError& error) {
    return std::string(error.what()) + " at byte " + std::to_string(error.byte);
  } catch (const JsonRangeError& error) {
    return error.what();
  }
}
std::string twin_outcome(const std::string& text, int indent) {
  try {
    return Nlohmann::parse(text).dump(indent);
  } catch (const Nlohmann::parse_error& error) {
    return std::string(error.what()) + " at byte " + std::to_string(error.byte);
  } catch (const Nlohmann::out_of_range& error) {
    return error.what();
  }
}

TEST(Json, ParsesAndPrintsLikeNlohmann) {
  for (const std::string& text : json_texts()) {
    SCOPED_TRACE(text);
    for (const int indent : {-1, 0, 2})
      EXPECT_EQ(outcome(text, indent), twin_outcome(text, indent));
    const Nlohmann twin = Nlohmann::parse(text, nullptr, false);
    const Json json = Json::parse_or_discard(text);
    ASSERT_EQ(json.is_discarded(), twin.is_discarded());
    if (twin.is_discarded()) continue;
    EXPECT_EQ(json.is_number_integer(), twin.is_number_integer());
    EXPECT_EQ(json.is_number_unsigned(), twin.is_number_unsigned());
    EXPECT_EQ(json.size(), twin.size());
    EXPECT_STREQ(json.type_name(), twin.type_name());
    EXPECT_EQ(json, Json::parse(json.dump()));
    EXPECT_EQ(OrderedJson::parse(text).dump(1), OrderedNlohmann::parse(text).dump(1));
    EXPECT_EQ(Json(OrderedJson::parse(text)), json);
    if (twin.is_structured()) {
      EXPECT_EQ(json.flatten().dump(), twin.flatten().dump());
    }
  }
}

TEST(Json, ReplacesInvalidUtf8LikeNlohmann) {
  EXPECT_THROW(static_cast<void>(Json("\xff").dump()), JsonError);
  for (const std::string text : {"a\xff\xfe", "é€😀", "\x01\x7f\"\\/\b\f\n\r\t", "\xf0\x9f"})
    for (const bool ascii : {false, true})
      EXPECT_EQ(Json(text).dump(-1, ' ', ascii, JsonInvalidUtf8::replace),
                Nlohmann(text).dump(-1, ' ', ascii, Nlohmann::error_handler_t::replace));
}

template <class J>
J sample() {
  return {{"b", 1},
          {"a", {1, 2.5, "x", nullptr, true}},
          {"o", {{"y", -1}, {"x", {{"deep", "yes"}}}}},
          {"list", {"p", "q"}},
          {"vector", std::vector<int>{1, 2}},
          {"map", std::map<std::string, double>{{"k", 0.5}}},
          {"pair", std::pair(1, "one")},
          {"float", 0.1F},
          {"nan", std::nan("")},
          {"large", std::numeric_limits<std::uint64_t>::max()}};
}

TEST(Json, ConstructsFromBracedListsLikeNlohmann) {
  EXPECT_EQ(sample<Json>().dump(), sample<Nlohmann>().dump());
  EXPECT_EQ(sample<OrderedJson>().dump(2), sample<OrderedNlohmann>().dump(2));
  const Json inner = {{"a", 1}};
  const Nlohmann twin = {{"a", 1}};
  EXPECT_EQ(Json{inner}.dump(), Nlohmann{twin}.dump());
  EXPECT_EQ(Json{5}.dump(), Nlohmann{5}.dump());
  EXPECT_EQ(Json({"a", "b"}).dump(), Nlohmann({"a", "b"}).dump());
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json::array({1, 2}).dump(), "[1,2]");
}

TEST(Json, ComparesLikeNlohmann) {
  const std::vector<std::string> values = {"null",
                                           "false",
                                           "true",
                                           "-1",
                                           "1",
                                           "1.0",
                                           "1.5",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "\"a\"",
                                           "\"b\"",
                                           "[1]",
                                           "[1,2]",
                                           "[2]",
                                           "{}",
                                           R"({"a":1})",
                                           R"({"a":2})",
                                           R"({"b":1})"};
  for (const std::string& a : values)
    for (const std::string& b : values) {
      SCOPED_TRACE(a + " and " + b);
      // nlohmann takes these two for equal.
      if (std::min(a, b) == "-1" && std::max(a, b) == "18446744073709551615") continue;
      EXPECT_EQ(Json::parse(a) == Json::parse(b), Nlohmann::parse(a) == Nlohmann::parse(b));
      EXPECT_EQ(Json::parse(a) < Json::parse(b), Nlohmann::parse(a) < Nlohmann::parse(b));
    }
  EXPECT_EQ(Json(1U), Json(1));
  EXPECT_NE(Json(-1), Json(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(Json("a"), "a");
  EXPECT_NE(Json(), false);
}

TEST(Json, ReadsValuesByType) {
  const auto json = sample<Json>();
  const std::string text = json["list"][0];
  EXPECT_EQ(text, "p");
  EXPECT_THAT(json.at("vector").get<std::vector<double>>(), ElementsAre(1, 2));
  EXPECT_EQ((json["map"].get<std::map<std::string, double>>()),
            (std::map<std::string, double>{{"k", 0.5}}));
  EXPECT_EQ(json["large"].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json["a"][1].get<int>(), 2);
  EXPECT_EQ(json.value("missing", 7), 7);
  EXPECT_EQ(json.value("missing", "text"), "text");
  EXPECT_TRUE(json.value("missing", Json()).is_null());
  EXPECT_THAT(error_of<JsonError>([&] { json["b"].get<std::string>(); }),
              HasSubstr("expected a string, found number"));
  EXPECT_THAT(error_of<JsonError>([&] { json["list"].get<int>(); }),
              HasSubstr("expected a number, found array"));
  EXPECT_THAT(error_of<JsonError>([&] { json.at("missing"); }), HasSubstr("missing key 'missing'"));
  EXPECT_THAT(error_of<JsonError>([&] { json["missing"]; }), HasSubstr("missing key 'missing'"));
  EXPECT_THAT(error_of<JsonError>([&] { json["list"].at(2); }),
              HasSubstr("index 2 is out of range of 2 elements"));
  EXPECT_THROW(json["b"].value("x", 1), JsonError);
  EXPECT_THROW(Json(true).get<std::int64_t>(), JsonError);
  EXPECT_THROW(Json(true).get<double>(), JsonError);
  EXPECT_THROW(Json(1).get<bool>(), JsonError);
  EXPECT_THROW(Json().front(), JsonError);
  EXPECT_THROW(Json::array().back(), JsonError);
  EXPECT_EQ(*json.pointer("/o/x/deep"), "yes");
  EXPECT_EQ(json.pointer("/o/z/deep"), nullptr);
  EXPECT_EQ(json.pointer("/list/2"), nullptr);
}

template <class J>
std::string changed() {
  J json;
  json["x"]["y"] = 1;
  json["list"].push_back(3);
  json["list"].push_back({{"q", 1}});
  json["list"].emplace_back("w");
  json["list"].erase(std::size_t{0});
  json["gone"] = 1;
  json.erase("gone");
  json.update({{"x", 2}, {"a", 3}});
  json.merge_patch(J::parse(R"({"list":null,"m":{"n":1,"o":null}})"));
  json.emplace("a", 9);
  json["b"] = json["a"];
  for (auto& element : json)
    if (element.is_number()) element = element.template get<int>() + 1;
  for (auto at = json.begin(); at != json.end();) at = at.key() == "m" ? json.erase(at) : ++at;
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + value.dump();
  const J elements = {"p", "q"};
  for (const auto& item : elements.items()) keys += item.key() + item.value().dump();
  return json.dump() + keys + json.front().dump() + json.back().dump();
}

TEST(Json, ModifiesLikeNlohmann) {
  EXPECT_EQ(changed<Json>(), changed<Nlohmann>());
  EXPECT_EQ(changed<OrderedJson>(), changed<OrderedNlohmann>());
}

TEST(Json, ReportsRepeatedKeysWithTheirDepth) {
  std::string seen;
  const Json json = Json::parse(
      R"({"a":1,"b":{"c":1,"c":2},"a":3})",
      [&](int depth, const std::string& key) { seen += std::to_string(depth) + key + " "; });
  EXPECT_EQ(seen, "2c 1a ");
  EXPECT_EQ(json.dump(), R"({"a":3,"b":{"c":2}})");
}

TEST(Json, SetsValuesByPointer) {
  Json json = {{"list", {1, 2}}};
  json.set("/list/1", 5);
  json.set("/new/a~1b", "x");
  EXPECT_EQ(json.dump(), R"({"list":[1,5],"new":{"a/b":"x"}})");
  EXPECT_EQ(*json.pointer("/new/a~1b"), "x");
  EXPECT_EQ(json.pointer("list"), nullptr);
  json.set("", 7);
  EXPECT_EQ(json, 7);
}

TEST(Json, RefusesTextNestedTooDeep) {
  EXPECT_TRUE(Json::parse_or_discard(std::string(1'000'000, '[')).is_discarded());
  EXPECT_THAT(error_of<JsonParseError>([] { Json::parse(std::string(513, '[')); }),
              HasSubstr("nested more than 512 levels deep"));
  EXPECT_FALSE(
      Json::parse_or_discard(std::string(512, '[') + std::string(512, ']')).is_discarded());
}

}  // namespace
}  // namespace smelt
