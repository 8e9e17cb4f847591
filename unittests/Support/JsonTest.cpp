//===- JsonTest.cpp - Located errors of the JSON reader -------------------===//

#include "dsflash/Support/Json.h"

#include <gtest/gtest.h>

using namespace dsflash;

namespace {

std::string faultOf(std::string_view text) {
  return parseJson(text, "f.json").status().str();
}

TEST(Json, ReadsEveryKindOfValue) {
  auto value = parseJson(
      R"({"a": [1, -2, 2.5, true, false, null, "x\u00e9"], "b": {}, "c": []})",
      "f.json");
  ASSERT_TRUE(value.ok()) << value.status().str();
  const nlohmann::json &list = (*value)["a"];
  ASSERT_EQ(list.size(), 7u);
  EXPECT_EQ(list[0], 1);
  EXPECT_EQ(list[1], -2);
  EXPECT_EQ(list[2], 2.5);
  EXPECT_EQ(list[3], true);
  EXPECT_TRUE(list[5].is_null());
  EXPECT_EQ(list[6], "x\xc3\xa9");
  EXPECT_TRUE((*value)["b"].is_object() && (*value)["b"].empty());
  EXPECT_TRUE((*value)["c"].is_array() && (*value)["c"].empty());
  EXPECT_EQ(*parseJson("7", "f.json"), 7);
}

TEST(Json, SyntaxErrorsAreLocated) {
  EXPECT_EQ(faultOf("{\n  \"a\": 1,\n  \"b\" 2}").substr(0, 9), "f.json:3:");
  EXPECT_EQ(faultOf("[1] x").substr(0, 12), "f.json:1:5: ");
  EXPECT_NE(faultOf(""), "");
  EXPECT_NE(faultOf("[1,"), "");
  EXPECT_NE(faultOf("\"\xff\""), "");
  EXPECT_NE(faultOf("// no\n1"), "");
}

TEST(Json, DuplicateKeysAreErrors) {
  EXPECT_EQ(faultOf("{\"a\": 1,\n \"a\": 2}"),
            "f.json:2:4: key \"a\" is given twice");
  EXPECT_TRUE(parseJson(R"([{"a": 1}, {"a": {"a": 2}}])", "f.json").ok());
}

TEST(Json, NumbersOutsideDoubleAreErrors) {
  EXPECT_NE(faultOf("1e999").find("f.json:1:5: number overflow"),
            std::string::npos)
      << faultOf("1e999");
}

TEST(Json, DepthIsLimited) {
  auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parseJson(nested(kMaxJsonDepth), "f.json").ok());
  EXPECT_EQ(faultOf(nested(kMaxJsonDepth + 1)),
            "f.json:1:65: nested deeper than 64");
  EXPECT_EQ(faultOf(nested(100000)), "f.json:1:65: nested deeper than 64");
  EXPECT_EQ(faultOf(std::string(100000, '[')),
            "f.json:1:65: nested deeper than 64");
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_NE(faultOf(objects).find("nested deeper than 64"), std::string::npos);
}

/// What streams of a text take: "name=value;" for each element, and what stays
/// of the document, or the fault.
std::string streamed(const std::string &text, std::vector<std::string> path,
                     nlohmann::json::value_t type) {
  std::string seen;
  auto take = [&](const std::string &name, const nlohmann::json &value) {
    seen += name + "=" + value.dump() + ";";
  };
  Result<nlohmann::json> rest =
      parseJson(text, "f", {{std::move(path), type, take}});
  return seen + (rest ? rest->dump() : rest.status().str());
}

constexpr auto kList = nlohmann::json::value_t::array;
constexpr auto kObject = nlohmann::json::value_t::object;

TEST(Json, ListsAreHandedOnElementByElement) {
  EXPECT_EQ(streamed(R"([1, "a", [2, [3]], {"b": 4}, null])", {}, kList),
            R"(=1;="a";=[2,[3]];={"b":4};=null;[])");
  EXPECT_EQ(streamed("[]", {}, kList), "[]");
  for (const char *other : {"5", "{}", "{\"a\": [1]}"})
    EXPECT_EQ(streamed(other, {}, kList), "f:1:1: expected a list");
  EXPECT_EQ(streamed("null", {}, kList), "f:1:4: expected a list");
  EXPECT_EQ(streamed(std::string(kMaxJsonDepth + 1, '['), {}, kList),
            "f:1:65: nested deeper than 64");
}

TEST(Json, MembersAreHandedOnOneByOne) {
  EXPECT_EQ(streamed(R"({"a": 1, "b": {"c": [2, {}]}, "a": []})", {}, kObject),
            R"(a=1;b={"c":[2,{}]};a=[];{})");
  EXPECT_EQ(streamed("{}", {}, kObject), "{}");
  for (const char *other : {"[]", "3"})
    EXPECT_EQ(streamed(other, {}, kObject), "f:1:1: expected an object");
  EXPECT_EQ(streamed("{\"a\": {\"b\": 1, \"b\": 2}}", {}, kObject),
            "f:1:18: key \"b\" is given twice");
}

TEST(Json, StreamsInsideOfADocument) {
  EXPECT_EQ(streamed(R"({"l": [1], "m": {"l": [2, {"l": [3]}], "n": 4}})",
                     {"m", "l"}, kList),
            R"(=2;={"l":[3]};{"l":[1],"m":{"l":[],"n":4}})");
  EXPECT_EQ(streamed(R"([{"m": {"l": [2]}}, {"m/l": [5]}])", {"m", "l"}, kList),
            R"([{"m":{"l":[2]}},{"m/l":[5]}])");
  EXPECT_EQ(streamed(R"({"m": {"l": null}})", {"m", "l"}, kList),
            R"({"m":{"l":null}})");
  for (const char *other : {R"({"m": {"l": {"a": 1}}})", R"({"m": {"l": 7}})"})
    EXPECT_EQ(streamed(other, {"m", "l"}, kList).substr(6),
              ": m.l: expected a list");
  EXPECT_EQ(streamed(R"({"m": {"l": [1], "l": [2]}})", {"m", "l"}, kList),
            "=1;f:1:20: key \"l\" is given twice");
}

TEST(Json, FilesThatCannotBeRead) {
  EXPECT_EQ(readJsonFile("/no/such.json").status().str(),
            "/no/such.json: cannot open: No such file or directory");
  EXPECT_EQ(readJsonFile("/").status().str(), "/: not a regular file");
}

TEST(Json, WhatWouldTakeMuchMemory) {
  std::string list = "[";
  for (size_t i = 1; i < kMaxJsonValues; ++i)
    list += i > 1 ? ",0" : "0";
  EXPECT_TRUE(parseJson(list + "]", "f").ok());
  EXPECT_NE(parseJson(list + ",0]", "f")
                .status()
                .str()
                .find("more than 16384 values"),
            std::string::npos);
  EXPECT_EQ(streamed("{\"a\":" + list + ",0]}", {"a"}, kList).substr(0, 6),
            "=0;=0;");

  std::string text(kMaxJsonToken - 2, 'a');
  EXPECT_TRUE(parseJson("\"" + text + "\"", "f").ok());
  EXPECT_EQ(parseJson("[1,\"" + text + "\"]", "f").status().str(),
            "f:1:4: no other string or number within 262144 bytes");
  EXPECT_FALSE(
      parseJson("[" + std::string(kMaxJsonToken, ' ') + "]", "f").ok());
}

} // namespace
