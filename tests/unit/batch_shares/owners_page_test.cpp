// SPDX-License-Identifier: LGPL-3.0-or-later
// The page for batches' owners: what it holds, and what a browser makes of it.
#include "daemons/batches/owners_page.h"

#include <cmath>

#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kToday = 20833 * 86400.0 + 43200;

OwnersPage a_page() {
    OwnersPage page;
    page.project = "Tiles & <script>alert(1)</script>";
    page.now = kToday;
    const auto batch = [&](Id id, const std::string& name, BatchState state, double done) -> Batch& {
        OwnedBatch& b = page.batches.emplace_back();
        b.row.id = id, b.row.name = name, b.row.state = state, b.row.fraction_done = done, b.row.njobs = 2000;
        b.user_name = "Ada <3", b.app_name = "docking";
        return b.row;
    };
    batch(11, "first", BatchState::kComplete, 1).completion_time = static_cast<std::int64_t>(kToday) - 86400;
    batch(12, "ligands \"of\" May", BatchState::kInProgress, 0.417).est_completion_time = kToday + 2 * 3600;
    batch(13, "late", BatchState::kInProgress, 0.9).est_completion_time = kToday - 60;
    batch(14, "strange" + std::string(248, 'e'), BatchState::kInProgress, NAN);
    page.users = {{1, "Ada <3", 3}, {2, "Bob", 1}, {3, "nobody", 0}, {4, "owes", -5}};
    const auto today = static_cast<std::int64_t>(kToday / 86400);
    for (int d = 0; d < 40; ++d) {
        page.days.push_back({today - d, 1, 6e15 + d * 1e13});
        page.days.push_back({today - d, 2, 2e15});
    }
    return page;
}

TEST(OwnersPage, ShowsProgressAndEndOfBatches) {
    const std::string page = owners_page(a_page());
    EXPECT_THAT(page, HasSubstr("<progress max=\"1\" value=\"0.4170\">41.7 %</progress>"));
    EXPECT_THAT(page, HasSubstr("(in 2.0 h; with 80 % probability in 36 min to 4.6 h)"));
    EXPECT_THAT(page, HasSubstr("days since 2026-11-17 (59 is today)"));
    EXPECT_THAT(page, HasSubstr("overdue since "));
    EXPECT_THAT(page, HasSubstr("<td>not known</td>"));
    EXPECT_THAT(page, HasSubstr("<td>complete</td>"));
    // Bob got 80 of 327.8e15 operations; his quota is 1 of 4.
    EXPECT_THAT(page, HasSubstr("<td class=\"t\">Bob</td><td class=\"n\">25.0 %</td><td class=\"n\">24.4 %</td>"));
    EXPECT_THAT(page, HasSubstr("<td class=\"t\">nobody</td><td class=\"n\">0.0 %</td><td class=\"n\">0.0 %</td>"));
    EXPECT_THAT(page, HasSubstr(">2 Bob</text>"));
    EXPECT_THAT(page, HasSubstr("Shares of users"));
    OwnersPage many = a_page();
    for (Id id = 5; id < 9; ++id) many.users.push_back({id, "more", 1});
    EXPECT_THAT(owners_page(many), HasSubstr("Shares of the 6 largest quotas (dashed"));
    EXPECT_LT(page.find("ligands"), page.find("first")) << "the newest first";
    EXPECT_THAT(owners_page({}), HasSubstr("There are no batches."));
    EXPECT_THAT(owners_page({}), HasSubstr("nothing to show"));
}

TEST(OwnersPage, NamesAreEscapedAndNothingIsLoaded) {
    OwnersPage rows = a_page();
    rows.users[0].quota = rows.users[1].quota = 1e308;
    rows.batches[2].row.est_completion_time = 1e300;
    const std::string page = owners_page(rows);
    EXPECT_THAT(page, Not(HasSubstr("overdue"))) << "a time that is none is not known";
    EXPECT_LT(page.size(), 20000U);
    EXPECT_THAT(page, HasSubstr("Tiles &amp; &lt;script&gt;"));
    for (const char* bad : {"<script", "Ada <", "http:", "src=", "href=", "url(", "nan", "inf"})
        EXPECT_THAT(page, Not(HasSubstr(bad))) << bad;
}

/// Texts of the chart that leave it, and the colours' places at the chart's right end, today's: run in the page.
constexpr const char* kInspection = R"(<script>
const found = [];
const svg = document.querySelector('svg'), frame = svg.getBoundingClientRect();
for (const text of svg.querySelectorAll('text')) {
  const box = text.getBoundingClientRect();
  if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom)
    found.push('outside: ' + text.textContent);
}
for (const line of svg.querySelectorAll('polyline')) {
  const last = line.points[line.points.numberOfItems - 1];
  found.push((line.getAttribute('stroke-dasharray') ? 'quota ' : 'got ') + Math.round(last.y));
}
const bars = [...document.querySelectorAll('progress')].map(p => p.position.toFixed(3));
const broken = [...document.querySelectorAll('th')].some(h => h.offsetHeight > 40);
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
document.body.setAttribute('data-found', bars.join(' ') + '; ' + found.join(', ') + (wide ? '; too wide' : '') + (broken ? '; broken words' : ''));
</script></body>)";

TEST(OwnersPage, ChartsStandRightInABrowser) {
    test::TempDir folder;
    std::string page = owners_page(a_page());
    page.replace(page.rfind("</body>"), 7, kInspection);
    const std::vector<std::string> command{"chromium",
                                           "--headless",
                                           "--no-sandbox",
                                           "--disable-gpu",
                                           "--user-data-dir=" + (folder / "profile").string(),
                                           "--window-size=1280,1200",
                                           "--dump-dom",
                                           "file://" + folder.write("batches.html", page).string()};
    test::RunOptions options;
    options.env = {{"HOME", folder.path().string()}};
    options.cwd = folder.path();
    const test::RunResult shown = test::run(command, options, 300);
    ASSERT_EQ(shown.status, 0) << shown.err;
    // Today Ada got 6 of 8 and Bob 2 of 8; their quotas are 3 and 1 of 4: both lines of each end at the same height.
    // 75 and 25 % of an axis that ends at 80 %: the plot is 218 high and begins at 66.
    EXPECT_THAT(shown.out, HasSubstr("data-found=\"0.000 0.900 0.417 1.000; got 80, quota 80, got 216, quota 216, "
                                     "got 284, quota 284, got 284, quota 284\""));
}

}  // namespace
}  // namespace sluice
