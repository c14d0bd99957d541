// The run report, rendered by a real browser.
#include "evaluation/tracking/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "io/filesystem/file.h"
#include "support/missing.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kBrowser = "/usr/bin/chromium-headless-shell";

class PageTest : public testing::Test {
 protected:
  // Writes a run with 1000 log lines whose name and texts contain HTML.
  std::string make_run(const std::string& name, double learning_rate) const {
    const std::string folder = dir_.file(name);
    MetricsFile file(
        folder, 0,
        {{"of", 100000},
         {"parameters", 1234},
         {"device", "<cpu>"},
         {"settings", {{"train", {{"learning_rate", learning_rate}, {"steps", 100000}}}}},
         {"data", {{"seq_length", 128}}}});
    SpentTimes spent;
    spent[GoodputBucket::step] = 3;
    spent[GoodputBucket::compile] = 1;
    for (std::int64_t i = 1; i <= 1000; ++i)
      file.add("line", 100 * i,
               {{"loss", learning_rate + 5 / std::sqrt(i)}, {"learning_rate", 1e-4}}, spent);
    file.add("check", 50000, {{"valid", {{"loss", 2.5}, {"accuracy", 0.5}}}});
    file.add("filled", 50000, Record::parse(R"({"texts": [{"text": "a <b>[MASK]</b>",
                                          "masks": [[["<i>", 0.5], ["dog", 0.25]]]}]})"));
    io::write_file(dir_.file(name + "/evaluations.jsonl"),
                   "{\"global_step\":50000,\"loss\":2.4375,\"weights\":{\"loss\":3}}\n");
    return folder;
  }

  // Returns the page's title, which the script sets once the page is shown in a window of this
  // width in pixels.
  std::string titled(const std::string& page, const std::string& script, int width,
                     const std::string& flags = {}) const {
    const std::string path = dir_.file("page.html");
    const auto body = page.find("<body>") + 6;
    io::write_file(path,
                   page.substr(0, body) +
                       "<script>onerror = (e) => { document.title = 'error: ' + e; };</script>" +
                       page.substr(body) + "<script>" + script + "</script>");
    const std::string shown =
        run_command(str(kBrowser,
                        " --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=", width,
                        ",900 ", flags, " --dump-dom file://", path))
            .text;
    const auto begin = shown.find("<title>"), end = shown.find("</title>");
    return begin == std::string::npos ? shown : shown.substr(begin + 7, end - begin - 7);
  }

  TempDir dir_;
};

#define REQUIRE_BROWSER()                 \
  if (!std::filesystem::exists(kBrowser)) \
  SKIP_OR_FAIL_WITHOUT("browser", kBrowser << " is missing; scripts/test installs it")

TEST_F(PageTest, ShowsAccuracyInPercentWithItsBaseline) {
  MetricsFile(dir_.file("m"), 0, {{"of", 10}, {"settings", Record::object()}})
      .add("check", 5,
           {{"valid", {{"masked_lm_accuracy", 0.25}, {"majority_token_accuracy", 0.125}}}}, {});
  const std::string page = runs_page({read_run(dir_.file("m"))});
  EXPECT_THAT(page, HasSubstr("<figcaption>masked lm accuracy <small>%</small>"));
  EXPECT_THAT(page, Not(HasSubstr("<figcaption>majority")));
  EXPECT_THAT(page, HasSubstr("m, held out <b>25</b>"));
  EXPECT_THAT(page, HasSubstr("m, held out: majority token accuracy <b>12.5</b>"));
}

TEST_F(PageTest, IsSelfContained) {
  const std::string page = runs_page({read_run(make_run("<a>", 1e-3))});
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<a>")));
  EXPECT_THAT(page, Not(HasSubstr("<cpu>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, HasSubstr("a &lt;b&gt;[MASK]&lt;/b&gt;"));
  EXPECT_THAT(
      page,
      HasSubstr("<bdi>&lt;i&gt;</bdi> <small>50 %</small>, <bdi>dog</bdi> <small>25 %</small>"));
  EXPECT_LT(page.size(), 200'000u);  // curves of 1000 points are thinned
}

TEST_F(PageTest, BrowserShowsSectionsAndValuesUnderThePointer) {
  REQUIRE_BROWSER();
  const auto runs = read_runs({make_run("first", 1e-3), make_run("second", 1e-2)});
  const std::string page = runs_page(runs);
  const std::string title = titled(page, R"js(
      const svg = document.querySelector("svg[data-points]"), box = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent("pointermove",
          {clientX: box.left + box.width * (58 + 388) / 460, clientY: box.top + 50}));
      document.title = [...document.querySelectorAll("h2")].map((h) => h.textContent).join("|") + "//" +
          svg.parentNode.querySelector("output").textContent.replaceAll("\n", "|") + "//" +
          document.querySelectorAll("figure").length + " figures";)js",
                                   1300);
  EXPECT_EQ(title,
            "Losses and metrics|Learning rate and gradient norm|Goodput|Evaluations of "
            "checkpoints|Masks filled "
            "over time|Data|Settings//step 100000|first  0.159114|first, held out  2.5  (step "
            "50000)|second  0.168114|second, held out  2.5  (step 50000)//3 figures");
  EXPECT_THAT(page, HasSubstr("<td dir=\"auto\">train.learning_rate</td>"));
  EXPECT_THAT(page, HasSubstr("steps <b>75.0 %</b>"));
  EXPECT_THAT(page, HasSubstr(">2.4375<"));
}

TEST_F(PageTest, FitsAPhoneAndDarkMode) {
  REQUIRE_BROWSER();
  const std::string page = runs_page({read_run(make_run("run", 1e-3))});
  const std::string script =
      "document.title = (document.documentElement.scrollWidth <= innerWidth ? 'fits ' : 'wider ') "
      "+ "
      "getComputedStyle(document.body).backgroundColor;";
  EXPECT_EQ(titled(page, script, 390), "fits rgb(255, 255, 255)");
  EXPECT_EQ(titled(page, script, 390, "--blink-settings=preferredColorScheme=0"),
            "fits rgb(15, 19, 24)");
}

TEST(Chart, IsEmptyWithoutFiniteValues) {
  EXPECT_EQ(chart_html({.title = "x", .unit = "", .series = {}}), "");
  EXPECT_EQ(
      chart_html({.title = "x",
                  .unit = "",
                  .series = {{.label = "a", .run = 0, .dashed = false, .curve = {{1, NAN}}}}}),
      "");
  for (const double value : {0.0, -3.0, 1e-300, 1e300})
    EXPECT_THAT(
        chart_html({.title = "x",
                    .unit = "",
                    .series = {{.label = "a", .run = 0, .dashed = false, .curve = {{7, value}}}}}),
        Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace smelt::evaluation
