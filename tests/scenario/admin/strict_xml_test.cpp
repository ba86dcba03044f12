// SPDX-License-Identifier: LGPL-3.0-or-later
// XML files that Sluice writes or ships are read by another strict parser (Expat, through Python), and the check names
// those of a project that no such parser takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Parses each file whose text begins with '<' (no HTML, no PHP); prints how many there were, and what is refused.
constexpr const char* kParseAll = R"(
import re, sys, xml.parsers.expat
count = 0
def parse(name, text):
    global count
    count += 1
    try:
        xml.parsers.expat.ParserCreate().Parse(text, True)
    except xml.parsers.expat.ExpatError as error:
        print(name, error, file=sys.stderr)
for name in sys.stdin.read().split('\n'):
    if not name: continue
    text = open(name, 'rb').read()
    if name.endswith('.md'):
        for block in re.findall(rb'```xml\n(.*?)```', text, re.S): parse(name, b'<x>' + block + b'</x>')
    elif text.lstrip().startswith(b'<') and not re.match(rb'\s*<(!DOCTYPE html|\?php|!-- <sched|Directory|IfModule)', text):
        parse(name, text)
print(count)
)";

std::string files_below(const std::vector<fs::path>& folders) {
    std::string names;
    for (const fs::path& folder : folders)
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_regular_file() && entry.file_size() < 1'000'000) names += entry.path().string() + "\n";
    return names;
}

/// How many files a strict parser has taken; what it refuses fails the test.
int strictly_parsed(const std::vector<fs::path>& folders) {
    RunOptions options;
    options.stdin_text = files_below(folders);
    const RunResult parsed = run({"/usr/bin/env", "python3", "-c", kParseAll}, options);
    EXPECT_EQ(parsed.err, "");
    EXPECT_EQ(parsed.status, 0);
    return parsed.out.empty() ? 0 : std::stoi(parsed.out);
}

class StrictXmlFiles : public testing::Test {
  protected:
    /// A folder with the programs that make_project looks for.
    RunResult make_project(const std::string& name, const std::vector<std::string>& more) {
        std::vector<std::string> words{binary_dir() + "/bin/make_project",
                                       "--no_db",
                                       "--root",
                                       root(name).string(),
                                       "--install_from",
                                       binary_dir()};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }
    fs::path root(const std::string& name) const { return dir_ / "projects" / name; }
    std::string check(const fs::path& what) {
        return run({binary_dir() + "/bin/sluice_options", "--check", what.string()}).out;
    }
    TempDir dir_;
};

TEST_F(StrictXmlFiles, OfEachNewProject) {
    for (const char* level : {"0", "1"}) {
        const std::vector<std::string> kind{"--compat_level", level, "--url_base", "http://127.0.0.1"};
        const auto with = [&](std::vector<std::string> more) {
            more.insert(more.end(), kind.begin(), kind.end());
            return more;
        };
        ASSERT_EQ(make_project(std::string("plain") + level, with({"--name", "plain"})).status, 0);
        const RunResult odd = make_project(
            std::string("odd") + level,
            with({"--name", "_", "--long_name", "-- Größe & \"'", "--db_user", "a--b", "--db_passwd",
                  "--><!-- <&>'\"]]>\xf0\x9f\x98\x80", "--daemon", "a --b '<&>' -->", "--task", "1 day: a --b -->"}));
        ASSERT_EQ(odd.status, 0) << odd.err;
    }
    EXPECT_EQ(strictly_parsed({dir_ / "projects"}), 4 * 7);  // config, project, gui_urls, three answers
    for (const char* name : {"plain0", "plain1", "odd0", "odd1"})
        EXPECT_THAT(check(root(name)), Not(HasSubstr("strict XML parsers"))) << name;
}

TEST_F(StrictXmlFiles, UnwritableXmlIsRefusedFirst) {
    for (const char* password : {"a\x01", "Gr\xf6\xdf"}) {
        const RunResult refused = make_project("bad", {"--name", "bad", "--db_passwd", password});
        EXPECT_EQ(refused.status, 1);
        EXPECT_THAT(refused.err, HasSubstr("The database's password can't stand in an XML file"));
        EXPECT_FALSE(fs::exists(root("bad")));
    }
}

TEST_F(StrictXmlFiles, OfSamplesAndPages) {
    const fs::path sources = source_dir();
    EXPECT_GE(strictly_parsed({sources / "config/samples"}), 4);
    EXPECT_GE(strictly_parsed({sources / "docs"}), 7);
}

TEST_F(StrictXmlFiles, CheckNamesXmlThatOtherParsersRefuse) {
    ASSERT_EQ(make_project("p", {"--name", "p", "--url_base", "http://127.0.0.1"}).status, 0);
    const fs::path project = root("p");
    const std::string name = "projects/p/";
    const std::string config =
        "<boinc>\n<config>\n<db_name>d</db_name>\n<download_url>http://x/?a=1&b=2"
        "</download_url>\n</config>\n</boinc>\n";
    dir_.write(name + "config.xml", config);
    dir_.write(name + "config_aux.xml", "\n<?xml version=\"1.0\"?><config></config>");
    dir_.write(name + "project.xml", "<boinc>\n<!-- xadd --help -->\n</boinc>");
    dir_.write(name + "plan_class_spec.xml",
               "<plan_classes>\n<plan_class><name>\xfc</name></plan_class></plan_classes>");
    dir_.write(name + "gui_urls.xml", "<gui_urls></gui_urls>\n<rss_feeds>?a&b</rss_feeds>");
    dir_.write(name + "project_files.xml", "<a></a>\n<b></b>");  // fine: schedulers copy it
    dir_.write(name + "templates/x_in", "<file_info></file_info>\n<workunit></workunit>");
    dir_.write(name + "templates/y_out", "<file_info></file_info>\n<result>\n</result>");  // as upstream's samples are
    dir_.write(name + "cc_config.xml", "<?xml version=\"1.0\" encoding=\"iso-8859-15\"?>\n<a></a>");
    dir_.write(name + "templates/notes", "1 < 2");
    dir_.write(name + "apps/a/1.0/p/version.xml", "<version>\n<file>a & b</file></version>");
    const std::string told = check(project);
    for (const char* finding :
         {"/config.xml:4: strict XML parsers refuse this file, so BOINC's web pages and Python tools can't read it: a "
          "single & must be written as &amp;",
          "/config_aux.xml:2: strict", "/project.xml:2: strict", "a comment may not hold \"--\"",
          "/plan_class_spec.xml:2: strict", "this is not UTF-8", "/gui_urls.xml:2: strict", "/templates/x_in:2: strict",
          "put one element around all of them", "/apps/a/1.0/p/version.xml:2: strict"})
        EXPECT_THAT(told, HasSubstr(finding));
    EXPECT_THAT(told, AllOf(Not(HasSubstr("notes")), Not(HasSubstr("project_files.xml")), Not(HasSubstr("y_out")),
                            Not(HasSubstr("cc_config.xml"))));
    EXPECT_THAT(check(dir_.write("new.xml", config)), HasSubstr("new.xml:4: strict"));
}

}  // namespace
}  // namespace sluice::test
