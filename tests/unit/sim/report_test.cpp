// SPDX-License-Identifier: LGPL-3.0-or-later
// report.html: what it holds, and what a browser makes of it.
#include "sched/sim/fleet_result.h"

#include <png.h>

#include <cmath>
#include <map>

#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

FleetResult a_month() {
    FleetResult r;
    r.scenario = "a <script>alert(1)</script> & \"b\"";
    r.seed = 7;
    r.simulated_seconds = 30 * 86400;
    r.hosts = 300;
    r.jobs_submitted = 12345;
    r.statements_per_request = 7.25;
    r.more["stranded <workunits>"] = 3;
    for (int i = 0; i < 40; ++i) {
        r.makespans_hours.push_back(30 + 1.8 * i);
        r.bounds.idle_fleet_hours.push_back(12 + 0.6 * i);
        r.bounds.real_contacts_hours.push_back(18 + 0.9 * i);
    }
    for (int d = 0; d < 30; ++d) {
        r.throughput_by_day.push_back(150000 + 100 * d);
        r.deadline_misses_by_day.push_back(d % 7);
        r.wasted_by_day.push_back(20.25 + d);
        r.empty_by_day.push_back(d * d);
        double share = 0.02;
        for (const char* user :
             {"alice", "bob", "somebody with a very long name indeed", "\xC3\xA9\xC3\xA9 & co", "e", "f", "g"})
            r.shares_over_time.push_back({d, user, (share += 0.03) + 0.002 * d, 0.14});
    }
    r.waits_by_size_class = {{"0", {0.4, 2, 5, 10}}, {"1", {0.6, 3, 9, 10}}, {"none", {0.1, 0.5, 3, 4}}};
    r.host_classes = {"smallest hosts of all", "1", "2"};
    r.job_classes = {"0", "1", "2", "none"};
    r.host_class_by_job_class = {{900, 120, 3, 44}, {200, 1400, 160, 50}, {12, 300, 21000000, 90}};
    return r;
}

TEST(Report, HasChartForEachSeriesAndLoadsNothing) {
    const std::string page = report_html(a_month());
    for (const char* title :
         {"Makespan of batches", "Throughput", "Wait until sent", "Jobs sent, by class of host and job",
          "Shares of users (dashed: fluid ideal)", "Deadlines missed", "Wasted work",
          "Requests for work answered empty", "Database statements"})
        EXPECT_THAT(page, HasSubstr(std::string(">") + title + "</text>")) << title;
    EXPECT_THAT(page, HasSubstr(">12345<"));
    for (const char* loads : {"http", "src=", "href=", "url(", "@import"}) EXPECT_THAT(page, Not(HasSubstr(loads)));
}

TEST(Report, TextOfScenariosIsEscaped) {
    const std::string page = report_html(a_month());
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, HasSubstr("a &lt;script&gt;alert(1)&lt;/script&gt; &amp; "));
    EXPECT_THAT(page, HasSubstr("stranded &lt;workunits&gt;"));
}

TEST(Report, OfEmptyRunSaysThatThereIsNothing) {
    const std::string page = report_html({});
    EXPECT_THAT(page, HasSubstr("nothing to show"));
    for (const char* bad : {"nan", "inf"}) EXPECT_THAT(page, Not(HasSubstr(bad)));
}

/// Run in the page: which texts leave their chart, overlap another, or are smaller than 11 pixels; errors of scripts.
constexpr const char* kInspection = R"(<script>
const found = [];
addEventListener('error', e => found.push('error: ' + e.message));
const svgs = document.querySelectorAll('svg');
for (const svg of svgs) {
  const frame = svg.getBoundingClientRect(), seen = [];
  for (const text of svg.querySelectorAll('text')) {
    const box = text.getBoundingClientRect(), name = svg.getAttribute('aria-label') + ': ' + text.textContent;
    if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom)
      found.push('outside: ' + name);
    if (parseFloat(getComputedStyle(text).fontSize) * frame.width / 600 < 11) found.push('small: ' + name);
    for (const [other, what] of seen)
      if (box.left < other.right - 1 && box.right > other.left + 1 && box.top < other.bottom - 4 && box.bottom > other.top + 4)
        found.push('overlaps ' + what + ': ' + name);
    if (box.width > 0) seen.push([box, text.textContent]);
  }
}
document.body.setAttribute('data-found', svgs.length + ' charts; ' + found.join('; '));
</script></body>)";

class InChromium : public testing::Test {
  protected:
    std::string chromium(const std::vector<std::string>& more, const std::string& page) {
        std::vector<std::string> args{"chromium",
                                      "--headless",
                                      "--no-sandbox",
                                      "--disable-gpu",
                                      "--hide-scrollbars",
                                      "--user-data-dir=" + (folder_ / "profile").string(),
                                      "--window-size=1280,2300"};
        args.insert(args.end(), more.begin(), more.end());
        args.push_back("file://" + folder_.write("report.html", page).string());
        test::RunOptions options;
        options.env = {{"HOME", folder_.path().string()}};
        options.cwd = folder_.path();
        const test::RunResult result = test::run(args, options, 300);
        EXPECT_EQ(result.status, 0) << result.err;
        return result.out;
    }

    test::TempDir folder_;
};

TEST_F(InChromium, AllTextIsReadableAndInItsChart) {
    std::string page = report_html(a_month());
    page.replace(page.rfind("</body>"), 7, kInspection);
    EXPECT_THAT(chromium({"--dump-dom"}, page), HasSubstr("data-found=\"9 charts; \""));
}

TEST_F(InChromium, TheInspectionSeesTextThatLeavesItsChart) {
    std::string page = report_html(a_month());
    page.replace(
        page.rfind("</body>"), 7,
        std::string("<svg viewBox=\"0 0 600 340\" aria-label=\"bad\"><text x=\"590\" y=\"9\">too far</text></svg>") +
            kInspection);
    EXPECT_THAT(chromium({"--dump-dom"}, page), HasSubstr("outside: bad: too far"));
}

TEST_F(InChromium, AScreenshotShowsTheChartsInTheirColours) {
    const auto file = folder_ / "shot.png";
    chromium({"--screenshot=" + file.string()}, report_html(a_month()));
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    ASSERT_TRUE(png_image_begin_read_from_file(&image, file.c_str())) << image.message;
    image.format = PNG_FORMAT_RGB;
    EXPECT_EQ(image.width, 1280u);
    std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(image));
    ASSERT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr)) << image.message;
    std::map<unsigned, std::size_t> count;
    for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
        ++count[pixels[i] * 65536u + pixels[i + 1] * 256u + pixels[i + 2]];
    // Okabe and Ito's blue, orange, bluish green, vermilion, reddish purple.
    for (const unsigned colour : {0x0072B2u, 0xE69F00u, 0x009E73u, 0xD55E00u, 0xCC79A7u})
        EXPECT_GT(count[colour], 300u) << std::hex << colour;
    EXPECT_GT(count[0x0072B2], pixels.size() / 3 / 50) << "bars of five charts";
    EXPECT_GT(count[0xFFFFFF], pixels.size() / 3 / 3);
}

}  // namespace
}  // namespace sluice::sim
