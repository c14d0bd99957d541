#include "io/hub/hub_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HubSettingsTest : public testing::Test {
 protected:
  TempDir dir_;
  ScopedVariable home_{"HOME", dir_.path()};
  ScopedVariable none_[10] = {ScopedVariable("HF_ENDPOINT"),
                              ScopedVariable("HF_HOME"),
                              ScopedVariable("HF_HUB_CACHE"),
                              ScopedVariable("HUGGINGFACE_HUB_CACHE"),
                              ScopedVariable("XDG_CACHE_HOME"),
                              ScopedVariable("HF_TOKEN"),
                              ScopedVariable("HUGGING_FACE_HUB_TOKEN"),
                              ScopedVariable("HF_TOKEN_PATH"),
                              ScopedVariable("HF_HUB_OFFLINE"),
                              ScopedVariable("TRANSFORMERS_OFFLINE")};
};

TEST_F(HubSettingsTest, FindsTheCacheAsPythonDoes) {
  EXPECT_EQ(hub_settings().endpoint_text(), "https://huggingface.co");
  EXPECT_EQ(hub_settings().cache, dir_.file(".cache/huggingface/hub"));
  const ScopedVariable xdg("XDG_CACHE_HOME", "~/xdg");
  EXPECT_EQ(hub_settings().cache, dir_.file("xdg/huggingface/hub"));
  const ScopedVariable home("HF_HOME", "$HOME/hf");
  EXPECT_EQ(hub_settings().cache, dir_.file("hf/hub"));
  const ScopedVariable old_name("HUGGINGFACE_HUB_CACHE", "/old");
  EXPECT_EQ(hub_settings().cache, "/old");
  const ScopedVariable cache("HF_HUB_CACHE", "/a/${HOME}x/$UNKNOWN_VARIABLE");
  EXPECT_EQ(hub_settings().cache, "/a/" + dir_.path() + "x/$UNKNOWN_VARIABLE");
}

TEST_F(HubSettingsTest, FindsTheTokenInTheOrderOfPython) {
  EXPECT_TRUE(hub_settings().token.empty());
  write_file(dir_.file(".cache/huggingface/token"), "hf_file\n");
  EXPECT_EQ(hub_settings().token.reveal(), "hf_file");
  EXPECT_EQ(hub_settings().token_source, dir_.file(".cache/huggingface/token"));
  const ScopedVariable old_name("HUGGING_FACE_HUB_TOKEN", "hf_old");
  EXPECT_EQ(hub_settings().token.reveal(), "hf_old");
  const ScopedVariable token("HF_TOKEN", " hf_new ");
  EXPECT_EQ(hub_settings().token.reveal(), "hf_new");
  EXPECT_EQ(hub_settings().token_source, "HF_TOKEN");
}

TEST_F(HubSettingsTest, SendsNoTokenOverPlainHttpExceptToThisMachine) {
  const ScopedVariable token("HF_TOKEN", "hf_new");
  const CapturedLog log;
  for (const char* endpoint :
       {"https://hub.example", "http://127.0.0.1:8080", "http://localhost"}) {
    const ScopedVariable variable("HF_ENDPOINT", endpoint);
    EXPECT_EQ(hub_settings().token.reveal(), "hf_new") << endpoint;
  }
  {
    const ScopedVariable numeric("HF_ENDPOINT", "http://127.hub.example");
    EXPECT_TRUE(hub_settings().token.empty());
  }
  const ScopedVariable variable("HF_ENDPOINT", "http://hub.example/");
  EXPECT_TRUE(hub_settings().token.empty());
  EXPECT_THAT(log.text(), AllOf(HasSubstr("http://hub.example: the access token is not sent over "
                                          "plain http"),
                                Not(HasSubstr("hf_new"))));
}

TEST_F(HubSettingsTest, WarnsOnceAndReadsAChangedTokenFileAgain) {
  write_file(dir_.file(".cache/huggingface/token"), "hf_first");
  {
    const ScopedVariable variable("HF_ENDPOINT", "http://hub.example/");
    const CapturedLog first;
    (void)hub_settings();
    EXPECT_THAT(first.text(), HasSubstr("is not sent over plain http"));
    const CapturedLog second;
    (void)hub_settings();
    EXPECT_EQ(second.text(), "");
  }
  EXPECT_EQ(hub_settings().token.reveal(), "hf_first");
  write_file(dir_.file(".cache/huggingface/token"), "hf_other");  // a new inode
  EXPECT_EQ(hub_settings().token.reveal(), "hf_other");
}

TEST_F(HubSettingsTest, ReadsOfflineFromBothVariables) {
  EXPECT_FALSE(hub_settings().offline);
  for (const char* value : {"1", "ON", "yes", "True"}) {
    const ScopedVariable variable("HF_HUB_OFFLINE", value);
    EXPECT_TRUE(hub_settings().offline) << value;
  }
  const ScopedVariable off("HF_HUB_OFFLINE", "0");
  EXPECT_FALSE(hub_settings().offline);
  const ScopedVariable transformers("TRANSFORMERS_OFFLINE", "1");
  EXPECT_EQ(offline_variable(), "TRANSFORMERS_OFFLINE");
}

TEST_F(HubSettingsTest, RefusesAnEndpointThatIsNoUrlAndATokenWithSpaces) {
  {
    const ScopedVariable endpoint("HF_ENDPOINT", "hub.example");
    EXPECT_THAT(error_of<UsageError>([] { hub_settings(); }),
                HasSubstr("HF_ENDPOINT: must be an http or https URL"));
  }
  const ScopedVariable token("HF_TOKEN", "hf_a hf_b");
  EXPECT_THAT(
      error_of<UsageError>([] { hub_settings(); }),
      AllOf(HasSubstr("HF_TOKEN: the access token contains white space"), Not(HasSubstr("hf_a"))));
}

}  // namespace
}  // namespace smelt::io
