// SPDX-License-Identifier: LGPL-3.0-or-later
// How many results a project's own code judges a second: in C++ by the interface of sluice_validator, and in Python by
// script_validator; beside upstream's sample_bitwise_validator and script_validator, on the same workunits and MariaDB,
// in turn. Which side begins alternates; both must give the same verdicts.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "sluice/base/files.h"
#include "tests/support/database_rows.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/test_project.h"

using namespace sluice;
using namespace sluice::test;

namespace {

namespace fs = std::filesystem;

struct JudgeSettings {
    fs::path theirs, ours, schema;
    int workunits = 1000, bytes = 10240, pairs = 3;
    bool shell = false, cpp = true, scripts = true;
};

/// Of one run.
struct Judged {
    double seconds = 0, cpu = 0;  ///< s; CPU of the program, its children, and the database
};

constexpr int kHosts = 64;
/// What a validator writes: kept before the first run, and put back before each.
struct KeptTable {
    SqlLiteral keep, put_back;
};
constexpr KeptTable kKept[] = {
    {"CREATE TABLE was_workunit SELECT * FROM workunit", "REPLACE INTO workunit SELECT * FROM was_workunit"},
    {"CREATE TABLE was_result SELECT * FROM result", "REPLACE INTO result SELECT * FROM was_result"},
    {"CREATE TABLE was_host SELECT * FROM host", "REPLACE INTO host SELECT * FROM was_host"},
    {"CREATE TABLE was_user SELECT * FROM user", "REPLACE INTO user SELECT * FROM was_user"},
    {"CREATE TABLE was_record SELECT * FROM host_app_version",
     "REPLACE INTO host_app_version SELECT * FROM was_record"},
    {"CREATE TABLE was_version SELECT * FROM app_version", "REPLACE INTO app_version SELECT * FROM was_version"}};

constexpr const char* kPython = "#!/usr/bin/env python3\n";
/// What upstream's scripts and ours do: a file must not be empty, and two must be equal.
constexpr const char* kCheck = "import sys\nsys.exit(0 if open(sys.argv[1], 'rb').read() else 1)\n";
constexpr const char* kCompare =
    "import sys\na, b = (open(name, 'rb').read() for name in sys.argv[1:])\nsys.exit(0 if a == b else 1)\n";
constexpr const char* kJudge =
    "import sluice\n\ndef check(result):\n    data = open(result.path(), 'rb').read()\n    if not data:\n"
    "        raise sluice.Bad('empty')\n    return data\n\nsluice.validator(check, lambda a, b: a == b)\n";

class JudgeSide {
  public:
    JudgeSide(PrivateMariaDb& server, bool ours, const JudgeSettings& settings)
        : server_(server), ours_(ours), settings_(settings), project_(server, ours ? "ours" : "theirs") {
        if (!ours && !settings.schema.empty()) {
            Database db(server.settings());
            db.execute(Sql("DROP DATABASE theirs"));
            db.execute(Sql("CREATE DATABASE theirs"));
            server.load("theirs", settings.schema);
        }
        for (int i = 1; i <= kHosts; ++i) {
            Host& h = project_.rows().hosts[i];
            h.id = i;
            h.userid = 1;
        }
        project_.store();
        add_jobs();
        const std::string python = kPython;
        script("check", settings.shell ? "#!/bin/sh\ntest -s \"$1\"\n" : python + kCheck);
        script("same", settings.shell ? "#!/bin/sh\ncmp -s \"$1\" \"$2\"\n" : python + kCompare);
        script("judge", python + kJudge);
        if (ours)
            for (const char* name : {"sluice_validator", "script_validator"})
                fs::create_symlink(settings.ours / "bin" / name, project_.folder() / "bin" / name);
    }

    Judged in_cpp() {
        return judge({(ours_ ? settings_.ours / "tests/judge_code" : theirs("sample_bitwise_validator")).string()});
    }
    Judged by_script() {
        std::vector<std::string> words{
            (ours_ ? settings_.ours / "bin/script_validator" : theirs("script_validator")).string()};
        if (ours_)
            words.insert(words.end(), {"--json_script", "judge"});
        else
            // Upstream's gives a script nothing, if its option names what; without that it gives it the files.
            words.insert(words.end(), {"--init_script", "check", "--compare_script", "same"});
        return judge(words);
    }
    /// Of each result.
    std::vector<std::vector<std::string>> verdicts() {
        return rows_of(project_.db(), Sql("SELECT id, outcome, validate_state, granted_credit FROM result ORDER BY id"),
                       4);
    }

  private:
    fs::path theirs(const std::string& name) const { return settings_.theirs / "bin" / name; }

    void script(const std::string& name, const std::string& text) const {
        const fs::path path = project_.folder() / "bin" / name;
        write_file_atomically(path, text);
        fs::permissions(path, fs::perms(0755));
    }

    /// Two results a workunit; in one workunit of twenty they differ.
    void add_jobs() {
        Database& db = project_.db();
        db.execute(Sql("SET SESSION sql_mode=''"));
        Sql wu(
            "INSERT INTO workunit(id,create_time,appid,name,rsc_fpops_est,rsc_fpops_bound,need_validate,canonical_credit,"
            "transition_time,delay_bound,min_quorum,target_nresults,max_error_results,max_total_results,"
            "max_success_results,result_template_file,keywords) SELECT "
            "seq,1,1,CONCAT('w_',seq),1e12,1e15,1,1,2147483647,604800,2,2,6,6,6,'t','' FROM seq_1_to_1000000 WHERE seq<=");
        db.execute(wu << settings_.workunits);
        db.execute(
            Sql("INSERT INTO result(id,create_time,workunitid,server_state,outcome,client_state,hostid,userid,sent_time,"
                "received_time,name,xml_doc_in,stderr_out,appid,app_version_id,elapsed_time,cpu_time,flops_estimate) "
                "SELECT s.seq,1,(s.seq+1) DIV 2,5,1,5,1+MOD(s.seq,64),1,1000,5000,CONCAT('w_',s.seq),CONCAT('<file_info>\\n"
                "<name>w_',s.seq,'_r1_0</name>\\n</file_info>\\n<result>\\n<file_ref>\\n<file_name>w_',s.seq,"
                "'_r1_0</file_name>\\n<open_name>out</open_name>\\n</file_ref>\\n</result>\\n'),REPEAT('z',200),1,1,100,100,"
                "2e9 FROM seq_1_to_1000000 s WHERE s.seq<=")
            << 2 * settings_.workunits);
        db.execute(Sql("INSERT INTO host_app_version(host_id,app_version_id) SELECT seq,1 FROM seq_1_to_64"));
        for (const KeptTable& table : kKept) db.execute(Sql(table.keep));
        for (int id = 1; id <= 2 * settings_.workunits; ++id) {
            const fs::path file = project_.output_file(fmt::format("w_{}_r1_0", id));
            fs::create_directories(file.parent_path());
            std::ofstream(file) << std::string(static_cast<std::size_t>(settings_.bytes), id % 40 == 0 ? 'y' : 'x');
        }
    }

    /// Single passes until all is judged: upstream's take a part at a time.
    Judged judge(std::vector<std::string> words) {
        for (const KeptTable& table : kKept) project_.db().execute(Sql(table.put_back));
        settle();
        words.insert(words.end(), {"--app", "up", "--credit_from_wu", "--one_pass"});
        const double server = server_.cpu_seconds();
        Judged judged;
        for (int pass = 0; to_judge() > 0; ++pass) {
            if (pass == 50) throw std::runtime_error(words[0] + " does not get done");
            const auto begin = std::chrono::steady_clock::now();
            const RunResult ended = run(words, project_.run_options(), 1200);
            judged.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            judged.cpu += ended.cpu;
            if (ended.status != 0)
                throw std::runtime_error(
                    fmt::format("{} ended with status {}: {}", words[0], ended.status, ended.err.substr(0, 2000)));
        }
        settle();
        judged.cpu += server_.cpu_seconds() - server;
        return judged;
    }
    std::int64_t to_judge() { return project_.count(Sql("SELECT COUNT(*) FROM workunit WHERE need_validate>0")); }
    /// What a run leaves to the server's purge is part of its cost.
    void settle() const {
        double before = server_.cpu_seconds();
        for (int turn = 0, quiet = 0; turn < 300 && quiet < 2; ++turn) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const double now = server_.cpu_seconds();
            quiet = now - before < 0.005 ? quiet + 1 : 0;
            before = now;
        }
    }

    PrivateMariaDb& server_;
    const bool ours_;
    const JudgeSettings settings_;
    TestProject project_;
};

std::string spread(std::vector<double> v, const char* format) {
    std::sort(v.begin(), v.end());
    const auto text = [&](double x) { return fmt::format(fmt::runtime(format), x); };
    return text(v[v.size() / 2]) + " (" + text(v.front()) + " to " + text(v.back()) + ")";
}

using Rounds = std::vector<Judged>;

void print_row(const char* name, const Rounds& theirs, const Rounds& ours, int results) {
    const auto column = [&](const Rounds& rounds, auto&& value) {
        std::vector<double> values;
        for (std::size_t i = 0; i < rounds.size(); ++i) values.push_back(value(i));
        return values;
    };
    const auto rate = [&](const Rounds& of) {
        return spread(column(of, [&](std::size_t i) { return results / of[i].seconds; }), "{:.0f}");
    };
    const auto cpu = [&](const Rounds& of) {
        return spread(column(of, [&](std::size_t i) { return 1e6 * of[i].cpu / results; }), "{:.0f}");
    };
    if (theirs.empty()) {
        fmt::print("| {} | {} | {} |\n", name, rate(ours), cpu(ours));
        return;
    }
    fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", name, rate(theirs), rate(ours),
               spread(column(ours, [&](std::size_t i) { return theirs[i].seconds / ours[i].seconds; }), "{:.1f}"),
               cpu(theirs), cpu(ours),
               spread(column(ours, [&](std::size_t i) { return theirs[i].cpu / ours[i].cpu; }), "{:.1f}"));
}

void require_equal(JudgeSide* theirs, JudgeSide& ours, const char* what) {
    if (theirs != nullptr && theirs->verdicts() != ours.verdicts())
        throw std::runtime_error(std::string(what) + ": the verdicts differ");
}

int bench(const JudgeSettings& s) {
    PrivateMariaDb server(syncing_mariadb(256));
    std::unique_ptr<JudgeSide> theirs;
    if (!s.theirs.empty()) theirs = std::make_unique<JudgeSide>(server, false, s);
    JudgeSide ours(server, true, s);
    Rounds cpp[2], scripts[2];
    const auto round_of = [&](auto&& judge, Rounds(&rounds)[2], bool theirs_first) {
        if (theirs && theirs_first) rounds[0].push_back(judge(*theirs));
        rounds[1].push_back(judge(ours));
        if (theirs && !theirs_first) rounds[0].push_back(judge(*theirs));
    };
    for (int pair = 0; pair < s.pairs; ++pair) {
        if (s.cpp) {
            round_of([](JudgeSide& side) { return side.in_cpp(); }, cpp, pair % 2 == 0);
            require_equal(theirs.get(), ours, "C++");
        }
        if (s.scripts) {
            round_of([](JudgeSide& side) { return side.by_script(); }, scripts, pair % 2 == 0);
            require_equal(theirs.get(), ours, "scripts");
        }
    }
    const int results = 2 * s.workunits;
    fmt::print("{} workunits with 2 results of {} bytes, {} rounds, scripts of theirs in {}\n\n", s.workunits, s.bytes,
               s.pairs, s.shell ? "sh" : "Python");
    fmt::print("{}", theirs
                         ? "| validator | theirs, results/s | ours | ours / theirs | CPU a result, us: theirs | ours | "
                           "theirs / ours |\n|---|---|---|---|---|---|---|\n"
                         : "| validator | results/s | CPU a result, us |\n|---|---|---|\n");
    if (s.cpp) print_row("C++", cpp[0], cpp[1], results);
    if (s.scripts) print_row("script", scripts[0], scripts[1], results);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    leave_root(argv);
    CLI::App app("Results that validators judge a second.", "judge");
    JudgeSettings s;
    s.ours = binary_dir();
    app.add_option("--theirs", s.theirs, "folder with upstream's bin; without: ours alone")
        ->check(CLI::ExistingDirectory);
    app.add_option("--ours", s.ours, "folder with ours (default: what was built)")->check(CLI::ExistingDirectory);
    app.add_option("--schema", s.schema, "the tables of theirs (default: ours)")->check(CLI::ExistingFile);
    app.add_option("--workunits", s.workunits)->capture_default_str()->check(CLI::Range(1, 100000));
    app.add_option("--bytes", s.bytes, "of an output file")->capture_default_str()->check(CLI::Range(1, 100000000));
    app.add_option("--pairs", s.pairs, "rounds of each side")->capture_default_str()->check(CLI::Range(1, 100));
    app.add_flag("--shell", s.shell, "upstream's scripts are sh scripts, which start faster than Python's");
    app.add_flag("!--no-cpp", s.cpp, "scripts alone");
    app.add_flag("!--no-scripts", s.scripts, "C++ alone");
    CLI11_PARSE(app, argc, argv);
    try {
        return bench(s);
    } catch (const std::exception& e) {
        fmt::print(stderr, "judge: {}\n", e.what());
        return 1;
    }
}
