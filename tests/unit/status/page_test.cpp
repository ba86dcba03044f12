// SPDX-License-Identifier: LGPL-3.0-or-later
// The page: what it says, that it is well-formed by others' parsers, that it loads nothing, and how it looks in a
// browser on a phone and on a wide screen. SLUICE_KEEP_PICTURES names a folder for screenshots.
#include "daemons/status/page.h"

#include <chrono>
#include <cstdlib>

#include "daemons/status/history.h"
#include "daemons/status/surveyor.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/status/sample_survey.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A day and a half, with a gap.
History a_history() {
    History history;
    for (int i = 0; i < 432; ++i) {
        if (i > 330 && i < 350) continue;
        HistorySample s;
        s.time = kSurveyTime - 300.0 * (431 - i);
        s.of(Tracked::kUnsent) = 12000 + 40 * (i % 60);
        s.of(Tracked::kInProgress) = 4000 + 10 * i;
        s.of(Tracked::kToValidate) = i % 30;
        s.of(Tracked::kToAssimilate) = i % 7;
        s.of(Tracked::kInArray) = 700 + i % 11 * 20;
        s.of(Tracked::kRequests) = 100.0 * i;
        s.of(Tracked::kWithJobs) = 70.0 * i;
        s.of(Tracked::kWithoutJobs) = 20.0 * i;
        s.of(Tracked::kNotServed) = i < 400 ? i : i + 300;
        s.of(Tracked::kJobsSent) = 150.0 * i;
        s.of(Tracked::kReported) = 145.0 * i;
        history.add(s);
    }
    return history;
}

std::string page_text(bool for_admin = false) {
    const ProjectSurvey survey = a_survey();
    const MetricFiles counts = some_counts();
    const History history = a_history();
    return status_page({survey, counts, history, for_admin});
}

RunResult xmllint(const std::string& kind, const std::string& text) {
    TempDir folder;
    std::vector<std::string> command{"xmllint", "--noout", "--nonet"};
    if (!kind.empty()) command.push_back(kind);
    command.push_back(folder.write("page", text).string());
    return run(command, {});
}

TEST(StatusPage, SaysWhatMatters) {
    const std::string page = page_text();
    for (const char* text :
         {"sample_bitwise_validator (upper\"case) does not run", "Primes &amp; &lt;Friends&gt;",
          "written 2027-01-15 08:00:00 UTC", "Upper &amp; lower case", "late by 83 min", "in 2.0 h (36 min to 4.6 h)",
          "12000", "1000 slots", "Sluice 0.2.0", "GFLOPS", "transitioner</td>"})
        EXPECT_THAT(page, HasSubstr(text));
    EXPECT_THAT(page, Not(HasSubstr("The project is up")));
    ProjectSurvey well = a_survey();
    well.daemons.resize(2);
    EXPECT_THAT(status_page({well, some_counts(), {}}), HasSubstr("The project is up."));
}

TEST(StatusPage, NamesWhatIsBroken) {
    ProjectSurvey s = a_survey();
    s.daemons.clear();
    EXPECT_TRUE(troubles(s).empty());
    s.database = false;
    s.array.reset();
    s.uploads_stopped = true;
    s.database_error = "Can't connect to 'db1' as 'boincadm'";
    EXPECT_EQ(troubles(s).size(), 3u);
    EXPECT_THAT(status_page({s, {}, {}, false}), Not(HasSubstr("boincadm")));
    EXPECT_THAT(status_page({s, {}, {}, true}), HasSubstr("boincadm"));
    s.scheduler_stopped = true;
    EXPECT_EQ(troubles(s).size(), 3u);  // an empty array is no news then
}

TEST(StatusPage, TellsVolunteersWhatIsNotTheirFault) {
    ProjectSurvey s = a_survey();
    s.daemons.clear();
    s.uploads_error = "/p/upload: No such file or directory";
    s.last_hour[1] = {.reported = 20, .download_errors = 10};
    s.last_hour[2] = {.reported = 20, .invalid = 10};
    EXPECT_THAT(troubles(s), testing::ElementsAre(HasSubstr("Uploads do not work at the moment"),
                                                  "Upper & lower case: files of most jobs can't be downloaded.",
                                                  "Folding: no result of the last hour was valid."));
    EXPECT_THAT(status_page({s, {}, {}, false}), Not(HasSubstr("/p/upload")));
    EXPECT_THAT(status_page({s, {}, {}, true}), HasSubstr("/p/upload: No such file"));
    const auto upload_server = [&](const char* state) {
        return HasSubstr(std::string("<command>Upload server</command>\n   <status>") + state + "<");
    };
    EXPECT_THAT(server_status_xml(s), upload_server("not running"));
    s.uploads_error.clear();
    EXPECT_THAT(server_status_xml(s), upload_server("running"));
    s.downloads_error = "/p/download: the file system does not answer";
    s.last_hour[1] = {.reported = 21, .download_errors = 10};  // less than half
    s.last_hour[2] = {.reported = 20, .valid = 1, .invalid = 19};
    EXPECT_THAT(troubles(s), testing::ElementsAre(HasSubstr("Downloads do not work at the moment")));
    EXPECT_THAT(server_status_xml(s), HasSubstr("<command>Download server</command>\n   <status>not running<"));
    s.downloads_error.clear();
    s.last_hour[1] = {.reported = 9, .download_errors = 9};  // too few
    s.last_hour[2] = {.reported = 20, .invalid = 9};
    EXPECT_TRUE(troubles(s).empty());
}

TEST(FolderLook, SaysWhyClientsCantUseAFolder) {
    const TempDir folder;
    using namespace std::chrono_literals;
    FolderLook there(folder.path().string()), gone((folder.path() / "gone").string());
    EXPECT_EQ(there.error(60s), "");
    EXPECT_EQ(gone.error(60s), (folder.path() / "gone").string() + ": No such file or directory");
    fs::create_directory(folder.path() / "gone");
    EXPECT_EQ(gone.error(60s), "");
    // A look that has no answer yet is waited for by the next one.
    const std::string late = there.error(0s);
    if (!late.empty()) {
        EXPECT_THAT(late, HasSubstr("does not answer"));
    }
    EXPECT_EQ(there.error(60s), "");
    EXPECT_EQ(why_unusable({.path = "/p", .unmounted = "/mnt"}), "/p: nothing is mounted at /mnt");
    EXPECT_EQ(why_unusable({.path = "/p", .read_only = true}), "/p: the file system is read-only");
}

TEST(FolderLook, ThePlacesOfFstabThatAreNotMounted) {
    const std::string fstab =
        "# /dev/sdz /srv/comment ext4 defaults 0 2\n/dev/sda1 / ext4 defaults 0 1\n/dev/sdb1 /srv/up ext4 defaults 0 2\n"
        "/dev/sdc1 /media/stick vfat noauto,user 0 0\n/dev/sdd1 none swap sw 0 0\n";
    const std::string root = "/dev/sda1 / ext4 rw 0 0\n", all = root + "/dev/sdb1 /srv/up ext4 rw 0 0\n";
    EXPECT_EQ(unmounted_above("/srv/up", fstab, root), "/srv/up");
    EXPECT_EQ(unmounted_above("/srv/up/project/upload", fstab, root), "/srv/up");
    EXPECT_EQ(unmounted_above("/srv/up/project/upload", fstab, all), "");
    for (const char* other : {"/srv/upload", "/srv", "/srv/comment", "/media/stick/upload", "/none"})
        EXPECT_EQ(unmounted_above(other, fstab, root), "") << other;
    EXPECT_EQ(unmounted_above("/srv/up", fstab, ""), "") << "nobody knows";
    EXPECT_EQ(unmounted_above("/srv/up", "", root), "");
}

TEST(StatusPage, SaysWhatIsWrongWithTheDatabase) {
    using Kind = DbError::Kind;
    struct Case {
        Kind kind;
        int code;
        const char* says;
    };
    const Case cases[] = {{Kind::kCantConnect, 2002, "does not answer: no jobs are handed out"},
                          {Kind::kCantConnect, 1045, "refuses the project's account: no jobs are handed out"},
                          {Kind::kCantConnect, 1049, "does not have the project's database"},
                          {Kind::kCantConnect, 1040, "has no connection free: this page has no figures"},
                          {Kind::kLost, 2013, "broke off the connection"},
                          {Kind::kRetry, 1969, "too busy to answer"},
                          {Kind::kOther, 1146, "lacks a table or a column"},
                          {Kind::kOther, 1142, "does not let this page read a table"},
                          {Kind::kOther, 1064, "refuses a question of this page: this page has no figures"}};
    ProjectSurvey s = a_survey();
    s.daemons.clear();
    s.database = false;
    for (const Case& c : cases) {
        s.database_error_kind = c.kind, s.database_error_code = c.code;
        EXPECT_THAT(troubles(s), testing::ElementsAre(HasSubstr(c.says))) << c.code;
    }
}

TEST(StatusPage, NobodyIsNamedAndNothingIsLoaded) {
    for (const bool for_admin : {false, true}) {
        const std::string page = page_text(for_admin);
        EXPECT_LT(page.size(), 150'000u);
        for (const char* bad :
             {"http:", "https:", "src=", "href=", "url(", "@import", "nan", "inf\"", "<Friends>", "<batch>"})
            EXPECT_THAT(page, Not(HasSubstr(bad))) << for_admin;
    }
    const std::string page = page_text();
    for (const char* only_admins : {"first &lt;batch&gt;", "Shares", "node7", "MariaDB", "SQL", "memory"})
        EXPECT_THAT(page, Not(HasSubstr(only_admins)));
    for (const char* shown : {"first &lt;batch&gt;", "Shares", "node7", "MariaDB", "memory"})
        EXPECT_THAT(page_text(true), HasSubstr(shown));
}

TEST(StatusPage, OthersParsersReadIt) {
    for (const bool for_admin : {false, true}) {
        const RunResult html = xmllint("--html", page_text(for_admin));
        EXPECT_EQ(html.status, 0) << html.err;
        const std::string page = page_text(for_admin);
        for (std::size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) {
            std::string picture = page.substr(at, page.find("</svg>", at) + 6 - at);
            picture.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
            const RunResult svg = xmllint("", picture);
            ASSERT_EQ(svg.status, 0) << svg.err;
        }
    }
}

TEST(StatusPage, XmlHasUpstreamsFields) {
    const std::string xml = server_status_xml(a_survey());
    const RunResult checked = xmllint("", xml);
    EXPECT_EQ(checked.status, 0) << checked.err;
    for (const char* text :
         {"<command>sample_bitwise_validator (upper\"case)</command>\n   <status>not running</status>",
          "<command>db_purge</command>\n   <status>disabled</status>",
          "<results_ready_to_send>12090</results_ready_to_send>",
          "<results_in_progress>4900</results_in_progress>",
          "<workunits_waiting_for_validation>17<",
          "<workunits_waiting_for_assimilation>3<",
          "<workunits_waiting_for_deletion>60<",
          "<results_waiting_for_deletion>120<",
          "<transitioner_backlog_hours>0.001111<",
          "<users_with_recent_credit>900<",
          "<users_with_credit>5000<",
          "<users_registered_in_past_24_hours>12<",
          "<hosts_with_recent_credit>1500<",
          "<hosts_with_credit>11000<",
          "<hosts_registered_in_past_24_hours>31<",
          "<current_floating_point_speed>20000<",
          "<name>upper\"case</name>",
          "<avg_runtime>1<",
          "<min_runtime>0.020000<",
          "<max_runtime>25<",
          "<users>41<"})
        EXPECT_THAT(xml, HasSubstr(text));
}

TEST(StatusHistory, IsBoundedAndForgivesAnything) {
    History history;
    for (int i = 0; i < 5000; ++i) {
        HistorySample s;
        s.time = 1000 + 300.0 * i;
        s.of(Tracked::kRequests) = i;
        history.add(s);
    }
    EXPECT_EQ(history.samples().size(), History::kMost);
    const std::string text = history.text();
    EXPECT_LT(text.size(), 1u << 20);
    EXPECT_EQ(History::parse(text).text(), text);
    EXPECT_TRUE(History::parse("something else\n1 2 3").samples().empty());
    EXPECT_EQ(History::parse(text + "1 2\nx y z\n-5 0 0 0 0 0 0 0 0 0 0 0\n1e300 nan\n").text(), text);
    history.add({5, {}});  // the clock was set back
    EXPECT_EQ(history.samples().size(), 1u);
}

TEST(StatusHistory, TheNewestSampleMovesOn) {
    History history;
    EXPECT_TRUE(history.update({1000, {}}));
    EXPECT_TRUE(history.update({1060, {}}));
    EXPECT_FALSE(history.update({1120, {}}));
    EXPECT_FALSE(history.update({1299, {}}));
    EXPECT_EQ(history.samples().size(), 2u);
    EXPECT_TRUE(history.update({1300, {}}));
    ASSERT_EQ(history.samples().size(), 3u);
    EXPECT_FALSE(history.update({1360, {}}));
    EXPECT_EQ(history.samples()[1].time, 1299);
    EXPECT_EQ(history.samples()[2].time, 1360);
    EXPECT_TRUE(history.update({900, {}}));
    EXPECT_EQ(history.samples().size(), 1u);
}

TEST(StatusHistory, ACounterSetBackGivesNoRate) {
    History history;
    for (const auto& [time, n] : {std::pair{0, 100}, {3600, 160}, {7200, 30}, {9000, 40}}) {
        HistorySample s;
        s.time = 1e9 + time;
        s.of(Tracked::kRequests) = n;
        history.add(s);
    }
    using Points = std::vector<std::pair<double, double>>;
    EXPECT_EQ(history.per_hour(Tracked::kRequests, 0), (Points{{1e9 + 3600, 60}, {1e9 + 9000, 20}}));
    EXPECT_EQ(history.values(Tracked::kRequests, 1e9 + 7200), (Points{{1e9 + 7200, 30}, {1e9 + 9000, 40}}));
}

/// What leaves its frame, what overlaps, what is too pale: found in the page by a browser.
constexpr const char* kInspection = R"(<script>
const found = [];
for (const more of document.querySelectorAll('details')) more.open = true;
function luminance(c) { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; }
const ground = luminance(getComputedStyle(document.body).backgroundColor);
function contrast(c) { const l = luminance(c); return (Math.max(l, ground) + 0.05) / (Math.min(l, ground) + 0.05); }
for (const svg of document.querySelectorAll('svg')) {
  const frame = svg.getBoundingClientRect(), boxes = [];
  for (const text of svg.querySelectorAll('text')) {
    const box = text.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) found.push('outside: ' + text.textContent);
    for (const [other, name] of boxes)
      if (box.left < other.right && other.left < box.right && box.top < other.bottom - 2 && other.top < box.bottom - 2) found.push('overlap: ' + name + ' / ' + text.textContent);
    boxes.push([box, text.textContent]);
    if (contrast(getComputedStyle(text).fill) < 4.5) found.push('pale: ' + text.textContent);
    if (box.height < 11) found.push('small: ' + text.textContent);
  }
  for (const mark of svg.querySelectorAll('polyline, rect')) {
    const style = getComputedStyle(mark), colour = mark.tagName === 'rect' ? style.fill : style.stroke;
    if (contrast(colour) < 3) found.push('pale mark: ' + colour);
  }
}
for (const e of document.querySelectorAll('p, td, th, h1, h2'))
  if (!e.closest('.old') && contrast(getComputedStyle(e).color) < 4.5) found.push('pale: ' + e.textContent);
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push('too wide');
const old = document.querySelector('.old').getBoundingClientRect().height > 5;
document.body.setAttribute('data-found', document.querySelectorAll('svg').length + ' pictures; ' + (old ? 'old' : 'fresh') + '; ' + found.join(', ') + ';');
</script></body>)";

class StatusPageInABrowser : public testing::Test {
  protected:
    std::string chromium(const std::vector<std::string>& more, const std::string& page) {
        std::vector<std::string> command{"chromium",          "--headless",
                                         "--no-sandbox",      "--disable-gpu",
                                         "--hide-scrollbars", "--user-data-dir=" + (folder / "profile").string()};
        command.insert(command.end(), more.begin(), more.end());
        command.push_back("file://" + folder.write("status.html", page).string());
        RunOptions options;
        options.env = {{"HOME", folder.path().string()}};
        options.cwd = folder.path();
        const RunResult shown = run(command, options, 300);
        EXPECT_EQ(shown.status, 0) << shown.err;
        return shown.out;
    }
    /// Of a page that was written when the browser reads it, or long ago.
    static std::string inspected(std::string page, bool written_now) {
        page.replace(page.rfind("</body>"), 7, kInspection);
        // The script of the page goes by the time at which it was written.
        replace_all(page, "Date.now() / 1000 - 1800000000", written_now ? "0" : "1e9");
        return page;
    }
    TempDir folder;
};

TEST_F(StatusPageInABrowser, LabelsStandRightAndOldPagesSaySo) {
    EXPECT_THAT(chromium({"--window-size=360,3000", "--dump-dom"}, inspected(page_text(true), false)),
                HasSubstr("data-found=\"15 pictures; old; ;\""));
    EXPECT_THAT(chromium({"--window-size=1280,2400", "--dump-dom", "--blink-settings=preferredColorScheme=0"},
                         inspected(page_text(), true)),
                HasSubstr("data-found=\"15 pictures; fresh; ;\""));
    const char* const keep = std::getenv("SLUICE_KEEP_PICTURES");
    if (keep == nullptr) return;
    for (const char* size : {"360,5600", "1280,2300"}) {
        for (const char* scheme : {"0", "1"}) {
            const std::string name =
                std::string(size).substr(0, std::string(size).find(',')) + (*scheme == '0' ? "dark" : "light");
            chromium(
                {std::string("--window-size=") + size, std::string("--blink-settings=preferredColorScheme=") + scheme,
                 "--screenshot=" + std::string(keep) + "/status_" + name + ".png"},
                inspected(page_text(*scheme == '0'), true));
        }
    }
}

}  // namespace
}  // namespace sluice::test
