// SPDX-License-Identifier: LGPL-3.0-or-later
// Scripts that answer JSON lines: what they may do wrong costs one workunit a retry, and no more.
#include "daemons/validator/json_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "daemons/assimilator/json_handler.h"
#include "daemons/validator/json_judge.h"
#include "sluice/base/error.h"
#include "sluice/base/line_script.h"
#include "sluice/base/process.h"
#include "sluice/json/input.h"
#include "sluice/model/catalogue.h"
#include "tests/support/fake_clock.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using Verdict = OutputCheck::Kind;

struct ScriptFolder : testing::Test {
    test::TempDir project;
    std::string script(const std::string& name, const std::string& text) {
        project.write("bin/" + name, text);
        fs::permissions(project / ("bin/" + name), fs::perms::owner_all);
        return (project / ("bin/" + name)).string();
    }
};

struct LineCase {
    const char* name;
    const char* body;     ///< in place of the answer to "b"
    const char* failure;  ///< part of what is said
    bool hangs = false;
};

class Misbehaving : public ScriptFolder, public testing::WithParamInterface<LineCase> {};

TEST_P(Misbehaving, CostsOneLineAndStartsAnew) {
    const std::string path = script("s", std::string("#!/bin/sh\nwhile read l; do if [ \"$l\" = b ]; then\n") +
                                             GetParam().body + "\nelse echo $l; fi; done\n");
    LineScript lines({path}, {.answer = GetParam().hangs ? 2.0 : 100, .longest = 1000, .memory = 0});
    std::vector<std::string> got;
    const auto take = [&](std::size_t, const std::string& answer) -> std::string {
        if (answer.size() != 1) return "garbage: " + answer.substr(0, 10);
        got.push_back(answer);
        return "";
    };
    const std::vector<std::string> asked{"a", "b", "c"};
    const auto first = lines.ask(asked, take);
    EXPECT_EQ(first.answered, 1U);
    EXPECT_THAT(first.failure, HasSubstr(GetParam().failure));
    const auto rest = lines.ask(std::span(asked).subspan(2), take);
    EXPECT_EQ(rest.answered, 1U);
    EXPECT_EQ(rest.failure, "");
    EXPECT_EQ(got, (std::vector<std::string>{"a", "c"}));
}
INSTANTIATE_TEST_SUITE_P(
    Ways, Misbehaving,
    testing::Values(LineCase{"Crash", "kill -SEGV $$", "it was killed by signal 11"},
                    LineCase{"EndsWithStatusZero", "exit 0", "it ended with status 0 and without an answer"},
                    LineCase{"EndsWithWords", "echo one >&2; echo 'two  words' >&2; exit 3",
                             "it ended with status 3 and without an answer; it said: one | two  words"},
                    LineCase{"HangWithChildren", "sleep 60 & sleep 60", "no answer within 2 s", true},
                    LineCase{"PartialLine", "printf b; exit 0", "it ended with status 0"},
                    LineCase{"PartialLineAndHang", "printf b; sleep 60", "no answer within 2 s", true},
                    LineCase{"Garbage", "echo what is this", "garbage: what is th"},
                    LineCase{"NoUtf8", "printf '\\377\\376\\n'", "garbage: "},
                    LineCase{"HugeLine", "head -c 100000 /dev/zero | tr '\\0' x; sleep 60", "longer than 1000 bytes"},
                    LineCase{"EndlessErrors", "yes >&2", "no answer within 2 s; it said: y | y", true},
                    LineCase{"ClosesOutput", "exec >&-; sleep 60", "it closed its standard output"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(ScriptFolder, ScriptThatIsNotThereIsSaid) {
    LineScript lines({(project / "bin/absent").string()}, {});
    const std::vector<std::string> asked{"a"};
    EXPECT_THAT(lines.ask(asked, [](auto, const auto&) { return ""; }).failure,
                HasSubstr("is it there and executable"));
}

TEST_F(ScriptFolder, MoreThanOneAnswerIsGarbage) {
    LineScript lines({script("s", "#!/bin/sh\nread l; echo $l; echo more; sleep 60\n")}, {});
    const std::vector<std::string> asked{"a"};
    std::string failure = lines.ask(asked, [](auto, const auto&) { return ""; }).failure;
    if (failure.empty())
        failure = lines.ask(asked, [](auto, const auto& said) { return said == "more" ? "more" : ""; }).failure;
    EXPECT_THAT(failure, HasSubstr("more"));
}

TEST_F(ScriptFolder, LongLinesBothWays) {
    LineScript lines({script("s", "#!/bin/sh\nexec cat\n")}, {});
    const std::vector<std::string> asked(40, std::string(200000, 'x'));
    std::size_t got = 0;
    EXPECT_EQ(lines
                  .ask(asked,
                       [&](auto, const auto& said) {
                           got += said.size();
                           return "";
                       })
                  .failure,
              "");
    EXPECT_EQ(got, 40U * 200000);
}

TEST_F(ScriptFolder, MemoryIsBounded) {
    LineScript lines(
        {script(
            "s",
            "#!/usr/bin/env python3\nimport sys\nfor l in sys.stdin:\n    x = bytearray(10**9)\n    print('ok', flush=True)\n")},
        {.answer = 30, .longest = 1000, .memory = 200'000'000});
    const std::vector<std::string> asked{"a"};
    EXPECT_THAT(lines.ask(asked, [](auto, const auto&) { return ""; }).failure, HasSubstr("MemoryError"));
}

TEST_F(ScriptFolder, StopEndsTheWait) {
    LineScript lines({script("s", "#!/bin/sh\nsleep 60\n")}, {}, [] { return true; });
    const std::vector<std::string> asked{"a"};
    const auto got = lines.ask(asked, [](auto, const auto&) { return ""; });
    EXPECT_EQ(got.answered, 0U);
    EXPECT_EQ(got.failure, "");
}

/// Workunit 7 with results 50, 51 … and no canonical one.
struct JudgedPage {
    explicit JudgedPage(std::size_t results, Id id = 7) {
        read.wu.id = id;
        read.wu.name = "w" + std::to_string(id);
        read.wu.min_quorum = 2;
        for (std::size_t i = 0; i < results; ++i) {
            Result r;
            r.id = 50 + static_cast<Id>(i);
            r.server_state = ServerState::kOver;
            r.outcome = Outcome::kSuccess;
            read.results.push_back(r);
        }
        job.read = &read;
        job.outputs.assign(results, OutputCheck{});
        job.files.assign(results, {{"p", "out", false, false, "/up/p"}});
    }
    JudgedPage(const JudgedPage&) = delete;
    WorkunitWithResults read;
    JudgedWorkunit job;
};

TEST(JsonAnswer, VerdictsKeysAndCredit) {
    JudgedPage p(3);
    EXPECT_EQ(take_judgement(R"({"workunit":7,"results":[{"id":51,"verdict":"good","key":"k","credit":2.5},
        {"id":50,"verdict":"bad","reason":"no\nnumber"},{"id":52,"verdict":"retry"}]})",
                             p.job),
              "");
    EXPECT_EQ(p.job.outputs[0]->kind, Verdict::kError);
    EXPECT_EQ(p.job.outputs[0]->why, "no number");
    EXPECT_EQ(p.job.outputs[1]->key, "k");
    EXPECT_EQ(p.job.outputs[1]->credit, 2.5);
    EXPECT_EQ(p.job.outputs[2]->kind, Verdict::kTransient);
    EXPECT_TRUE(p.job.compared.empty());
}

TEST(JsonAnswer, SameAsCountsBothWays) {
    JudgedPage p(3);
    take_judgement(R"({"workunit":7,"results":[{"id":50,"verdict":"good","same_as":[52]},{"id":51,"verdict":"good"},
        {"id":52,"verdict":"good"}]})",
                   p.job);
    ASSERT_EQ(p.job.compared.size(), 3U);
    EXPECT_EQ(p.job.compared[2][0], Agreement::kSame);
    EXPECT_EQ(p.job.compared[0][1], Agreement::kDifferent);
}

TEST(JsonAnswer, FailedIsSaid) {
    JudgedPage p(1);
    EXPECT_EQ(take_judgement(R"({"workunit":7,"failed":"ValueError: x"})", p.job), "ValueError: x");
}

class WrongAnswer : public testing::TestWithParam<const char*> {};
TEST_P(WrongAnswer, IsRefusedAndChangesNothing) {
    JudgedPage p(2);
    EXPECT_THROW(take_judgement(GetParam(), p.job), json::InputError);
    EXPECT_EQ(p.job.outputs[0]->key, "");
    EXPECT_TRUE(p.job.compared.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Texts, WrongAnswer,
    testing::Values(
        "", "[]", "{", "null", R"({"workunit":8,"results":[]})", R"({"workunit":7})", R"({"workunit":7,"results":[]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good"},{"id":50,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good","key":"k"},{"id":99,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"fine"},{"id":51,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good","same_as":[1]},{"id":51,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good","same_as":["51"]},{"id":51,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good","credit":-1},{"id":51,"verdict":"good"}]})",
        R"({"workunit":7,"results":[{"id":50,"verdict":"good","kez":"1"},{"id":51,"verdict":"good"}]})",
        "{\"workunit\":7,\"failed\":\"\xff\"}"));

TEST(JsonQuestion, HoldsWhatAScriptNeeds) {
    JudgedPage p(1);
    p.read.results[0].name = "r\xff";
    p.read.results[0].elapsed_time = 1.5;
    const std::vector<JsonResultFiles> results{{p.read.results[0], p.job.files[0]}};
    const json::Object said = json::parse(validator_question(p.read.wu, "a", 0, results), "question");
    EXPECT_EQ(said.object("workunit").whole("quorum", 0, 9), 2);
    const auto first = said.objects("results")[0];
    EXPECT_EQ(first.number("elapsed_time"), 1.5);
    EXPECT_EQ(first.objects("files")[0].text("path"), "/up/p");
    EXPECT_FALSE(first.objects("files")[0].boolean("no_validate"));
    EXPECT_EQ(validator_question(p.read.wu, "a", 0, results).find('\n'), std::string::npos);
}

struct JudgeByScript : ScriptFolder {
    test::FakeClock clock{1000};
    App app;
    JsonScriptOptions options;
    JsonScriptPlaces places{project.path(), project / "upload", "/nowhere/bwrap"};
    JudgeByScript() { options.time_limit = 100; }
    /// The kinds of the first result of each of `n` workunits, a letter each, and whether all were judged in so many
    /// calls.
    std::string judged(const std::string& text, std::size_t n, int calls) {
        script("j", text);
        options.command = "j";
        JsonJudge judge(options, places, clock);
        std::vector<std::unique_ptr<JudgedPage>> pages;
        std::vector<JudgedWorkunit> jobs;
        for (std::size_t i = 0; i < n; ++i) {
            pages.push_back(std::make_unique<JudgedPage>(1, 7 + static_cast<Id>(i)));
            jobs.push_back(pages.back()->job);
        }
        std::span<JudgedWorkunit> rest = jobs;
        while (!rest.empty() && calls-- > 0) rest = rest.subspan(judge.judge(app, rest));
        std::string letters;
        for (const auto& job : jobs)
            letters += job.outputs[0]->kind == Verdict::kGood    ? 'G'
                       : job.outputs[0]->kind == Verdict::kError ? 'E'
                                                                 : 'T';
        return letters + (rest.empty() ? "" : "…");
    }
};

// The number of a line's workunit decides what its script does.
constexpr const char* kCrashesAtNine =
    "#!/bin/sh\nwhile read l; do n=${l#*\\\"id\\\":}; n=${n%%,*}; [ $n != 9 ] || exit 1\n"
    "echo '{\"workunit\":'$n',\"results\":[{\"id\":50,\"verdict\":\"good\"}]}'; done\n";

TEST_F(JudgeByScript, CrashStopsNoOtherWorkunit) { EXPECT_EQ(judged(kCrashesAtNine, 6, 9), "GGTGGG"); }

TEST_F(JudgeByScript, ScriptThatAlwaysFailsRests) {
    EXPECT_EQ(judged("#!/bin/sh\necho broken >&2\nexit 1\n", 6, 4), "TTTGGG…") << "the others are not put off";
}

TEST_F(JudgeByScript, AfterARestOthersComeFirst) {
    script("j",
           "#!/bin/sh\nwhile read l; do n=${l#*\\\"id\\\":}; n=${n%%,*}; [ $n -gt 9 ] || exit 1\n"
           "echo '{\"workunit\":'$n',\"results\":[{\"id\":50,\"verdict\":\"good\",\"key\":\"k\"}]}'; done\n");
    options.command = "j";
    JsonJudge judge(options, places, clock);
    const JudgedPage first(1, 7), second(1, 8), third(1, 9), good(1, 10);
    std::vector<JudgedWorkunit> jobs{first.job, second.job, third.job, good.job};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(judge.judge(app, std::span(jobs).subspan(i)), 1U);
    const auto last = std::span(jobs).subspan(3);
    EXPECT_EQ(judge.judge(app, last), 0U) << "it rests";
    clock.set(clock.now() + 5);
    EXPECT_EQ(judge.judge(app, last), 1U);
    EXPECT_EQ(jobs[3].outputs[0]->key, "k");
}

TEST_F(JudgeByScript, SandboxIsUsedWhereItIs) {
    project.write("fake/bwrap", "#!/bin/sh\necho \"$@\" >> " + (project / "called").string() +
                                    "\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n");
    fs::permissions(project / "fake/bwrap", fs::perms::owner_all);
    places.bwrap = project / "fake/bwrap";
    project.write("out/file", "");
    options.writable = {(project / "out").string()};
    EXPECT_EQ(judged(kCrashesAtNine, 1, 9), "G");
    const std::string called = read_file(project / "called").value_or("");
    EXPECT_THAT(called, HasSubstr("--unshare-all --die-with-parent --new-session"));
    EXPECT_THAT(called, HasSubstr("--ro-bind-try " + (project / "upload").string()));
    EXPECT_THAT(called, HasSubstr("--bind " + options.writable[0] + " " + options.writable[0]));
    EXPECT_THAT(called, testing::Not(HasSubstr("config.xml")));
    const std::string hidden = "--tmpfs " + fs::canonical(project.path()).string() + " ";
    ASSERT_THAT(called, HasSubstr(hidden));
    EXPECT_LT(called.find(hidden), called.find("--ro-bind-try " + (project / "bin").string()));
    options.network = true;
    EXPECT_THAT(sandboxed({"x"}, options, places), testing::Contains("--share-net"));
}

/// The sandbox that bubblewrap makes.
struct RealSandbox : JudgeByScript {
    void SetUp() override {
        places.bwrap = "/usr/bin/bwrap";
        ASSERT_TRUE(fs::exists(places.bwrap)) << "config/install-packages --tests installs bubblewrap";
        if (run_script(sandboxed({"/usr/bin/true"}, options, places), 60) != 0)
            GTEST_SKIP() << "bubblewrap can't make a sandbox where user namespaces are forbidden";
        project.write("config.xml", "secret");
        project.write("upload/file", "output");
    }
};

TEST_F(RealSandbox, HidesSecretsNetworkAndTerminal) {
    const std::string at = project.path().string();
    const std::vector<std::pair<std::string, std::string>> checks{
        {"config.xml", "[ ! -e " + at + "/config.xml ]"},
        {"upload", "[ \"$(cat " + at + "/upload/file)\" = output ]"},
        {"upload is read-only", "! touch " + at + "/upload/new 2>/dev/null"},
        {"bin is read-only", "! touch " + at + "/bin/new 2>/dev/null"},
        {"tmp", "touch /tmp/own"},
        {"network", "[ \"$(grep -c : /proc/net/dev)\" = 1 ]"},
        {"session", "[ \"$(cut -d' ' -f6 /proc/self/stat)\" != 0 ]"},
        {"processes", "[ ! -e /proc/" + std::to_string(::getpid()) + "/exe ]"}};
    std::string text = "#!/bin/sh\nread l\nwrong=\n";
    for (const auto& [name, check] : checks) text.append(check + " || wrong=\"$wrong" + name + ", \"\n");
    script(
        "j",
        text +
            "echo '{\"workunit\":7,\"results\":[{\"id\":50,\"verdict\":\"good\",\"reason\":\"none: '$wrong'\"}]}'\n");
    options.command = "j";
    JsonJudge judge(options, places, clock);
    JudgedPage page(1);
    ASSERT_EQ(judge.judge(app, {&page.job, 1}), 1U);
    EXPECT_EQ(page.job.outputs[0]->why, "none: ");
}

TEST_F(RealSandbox, EndsWithAllThatItStarted) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    {
        LineScript lines(sandboxed({"/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & while read l; do echo $l; done"},
                                   options, places),
                         {});
        const std::vector<std::string> asked{"a"};
        EXPECT_EQ(lines.ask(asked, [](auto, const auto&) { return ""; }).answered, 1U);
        ::close(ends[1]);
    }
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the last of them has ended";
    ::close(ends[0]);
}

TEST_F(JudgeByScript, PathThatIsNotThereIsRefused) {
    project.write("fake/bwrap", "#!/bin/sh\nexit 1\n");
    fs::permissions(project / "fake/bwrap", fs::perms::owner_all);
    places.bwrap = project / "fake/bwrap";
    options.readable = {(project / "absent").string()};
    EXPECT_THROW(judged(kCrashesAtNine, 1, 9), ConfigError);
}

TEST_F(JudgeByScript, ALineTooManyCostsNoWorkunit) {
    script("a",
           "#!/bin/sh\nwhile read l; do n=${l#*\\\"id\\\":}; n=${n%%,*}; printf '{\"workunit\":%s}\\n\\n' $n; done\n");
    options.command = "a";
    JsonHandler handler("app", options, places, clock);
    FinishedWorkunit job;
    job.wu.id = 7;
    const std::vector<FinishedWorkunit> one{job};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(handler.handle(one).size(), 1U);
}

TEST(JsonHandled, AnswersOfAnAssimilator) {
    EXPECT_EQ(read_handled(R"({"workunit":7})", 7), "");
    EXPECT_EQ(read_handled(R"({"workunit":7,"failed":"disk full"})", 7), "disk full");
    EXPECT_THROW(read_handled(R"({"workunit":8})", 7), json::InputError);
}

}  // namespace
}  // namespace sluice
