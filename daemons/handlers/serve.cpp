// SPDX-License-Identifier: LGPL-3.0-or-later
// The project's side: main() of a validator or assimilator. Started by an admin it becomes the daemon, which starts it
// again with a socket; then it answers.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "daemons/handlers/serve.h"
#include "daemons/validator/plan.h"

extern char** environ;

namespace sluice {
namespace {

std::string own_program() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

/// The daemon's program: beside this one, in the project's bin, or where Sluice was installed.
std::string find_daemon(const std::string& daemon) {
    std::vector<std::filesystem::path> folders{std::filesystem::path(own_program()).parent_path()};
    if (const char* project = std::getenv("BOINC_PROJECT_DIR"))
        folders.push_back(std::filesystem::path(project) / "bin");
    for (const char* folder : {"bin", "../bin", SLUICE_INSTALLED_BIN}) folders.emplace_back(folder);
    for (const auto& folder : folders)
        if (::access((folder / daemon).c_str(), X_OK) == 0) return (folder / daemon).string();
    return "";
}

int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// Runs the daemon's --help, then adds the project's own.
int help(std::vector<char*>& argv, const std::string& path, const std::string& usage) {
    pid_t pid = 0;
    if (::posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv.data(), environ) != 0) return 1;
    const int status = wait_for(pid);
    if (!usage.empty()) std::printf("%s", usage.c_str());
    return status;
}

}  // namespace

int become_daemon(const std::string& daemon, int argc, char** argv, const std::function<std::string()>& usage) {
    const std::string path = find_daemon(daemon), self = own_program();
    if (path.empty()) {
        std::fprintf(stderr,
                     "%s: %s, which it starts, is neither beside it nor in " SLUICE_INSTALLED_BIN
                     ". Make a link to the one of your Sluice: ln -s SLUICE/bin/%s %s/\n",
                     argv[0], daemon.c_str(), daemon.c_str(), std::filesystem::path(self).parent_path().c_str());
        return 1;
    }
    std::string option = "--program", own = self;
    std::vector<char*> words{argv[0], option.data(), own.data()};
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    const std::string first = argc > 1 ? argv[1] : "";
    if (first == "-h" || first == "--help" || first == "-help") return help(words, path, usage());
    ::execv(path.c_str(), words.data());
    std::fprintf(stderr, "%s: %s: %s\n", argv[0], path.c_str(), std::strerror(errno));
    return 1;
}

int serve(int argc, char** argv, const Served& served) {
    const int socket = std::atoi(std::getenv(kWireSocket));
    ::unsetenv(kWireSocket);
    // A program that this code starts, and that outlives it, would hide its end from the daemon.
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it is of no use without its daemon
    try {
        WireHello hello;
        const auto first = receive_frame(socket);
        if (!first) return 0;
        from_wire(*first, hello);
        database_rules = {hello.time_limit, hello.dry_run};
        const std::string wrong = served.start(hello, {argv + 1, argv + argc});
        if (!send_frame(socket, wrong) || !wrong.empty()) return 1;
        while (const auto question = receive_frame(socket))
            if (!send_frame(socket, served.answer(*question))) break;
    } catch (const WireError& e) {
        std::fprintf(stderr, "%s: %s: build it against the Sluice that runs it\n", argv[0], e.what());
        return 1;
    }
    return 0;
}

namespace {

std::string unknown_option(const std::vector<std::string>& words) {
    return words.empty() ? "" : "unknown option " + words.front();
}

OutputCheck as_check(const LookedAt& looked) {
    return {looked.kind == LookedAt::Kind::kGood ? OutputCheck::Kind::kGood : OutputCheck::Kind::kError, ""};
}

bool end_of_database(bool good) { return end_transaction == nullptr || end_transaction(good); }

/// What the code wrote stays if it could tell what each result is.
void end_of_database(JudgeAnswer& answer) {
    bool good = true;
    for (const auto& looked : answer.looked) good = good && looked.kind == LookedAt::Kind::kGood;
    for (const auto& row : answer.compared) good = good && std::count(row.begin(), row.end(), PairIs::kLater) == 0;
    if (end_of_database(good)) return;
    for (auto& looked : answer.looked) {
        looked.kind = LookedAt::Kind::kLater;
        looked.why = "what the code wrote into the database is lost";
    }
}

JudgeAnswer answer_of_code(ValidatorCode& code, const JudgeQuestion& q) {
    JudgeAnswer answer;
    answer.looked.resize(q.results.size());
    const ReturnedSet set{q.wu, q.results, q.files, q.app_target_nresults};
    code.begin(set);
    if (auto judged = code.judge_set({q.asked.begin(), q.asked.end()})) {
        code.end();
        answer.is_set = true;
        answer.looked = std::move(judged->looked);
        answer.standing = std::move(judged->standing);
        answer.canonical = judged->canonical;
        return answer;
    }
    std::vector<std::optional<OutputCheck>> checks(q.results.size());
    for (std::size_t i = 0; i < q.results.size(); ++i) {
        if (q.asked[i] == 0) continue;
        answer.looked[i] = code.look(i);
        checks[i] = as_check(answer.looked[i]);
    }
    answer.compared.assign(q.results.size(), std::vector<PairIs>(q.results.size()));
    answer.asked.assign(q.results.size(), std::vector<char>(q.results.size()));
    compare_as_needed(q.wu, q.results, checks, [&](std::size_t a, std::size_t b) {
        answer.asked[a][b] = 1;
        answer.compared[a][b] = code.compare(a, b);
        return answer.compared[a][b] == PairIs::kSame ? Agreement::kSame : Agreement::kDifferent;
    });
    code.end();
    return answer;
}

JudgeAnswer judge(ValidatorCode& code, const JudgeQuestion& q) {
    JudgeAnswer answer = answer_of_code(code, q);
    end_of_database(answer);
    return answer;
}

Assimilated assimilate(AssimilatorCode& code, const AssimilateQuestion& q) {
    const Result* canonical = q.canonical >= 0 ? &q.results.at(static_cast<std::size_t>(q.canonical)) : nullptr;
    Assimilated done = code.assimilate({q.wu, q.results, canonical, q.files});
    const bool good = done.kind == Assimilated::Kind::kDone;
    if (!end_of_database(good) && good)
        return {Assimilated::Kind::kFailed, "what the code wrote into the database is lost"};
    return done;
}

}  // namespace

std::string ValidatorCode::take(const std::vector<std::string>& words) { return unknown_option(words); }
std::string AssimilatorCode::take(const std::vector<std::string>& words) { return unknown_option(words); }

int serve_validator(int argc, char** argv, ValidatorCode& code, const StartHandler& start) {
    return serve(argc, argv, {start, [&](const std::string& text) {
                                  JudgeQuestion question;
                                  from_wire(text, question);
                                  return to_wire(judge(code, question));
                              }});
}

int serve_assimilator(int argc, char** argv, AssimilatorCode& code, const StartHandler& start) {
    return serve(argc, argv, {start, [&](const std::string& text) {
                                  AssimilateQuestion q;
                                  from_wire(text, q);
                                  return to_wire(assimilate(code, q));
                              }});
}

int run_validator(int argc, char** argv, ValidatorCode& code) {
    if (std::getenv(kWireSocket) == nullptr)
        return become_daemon("sluice_validator", argc, argv, [&] { return code.usage(); });
    return serve_validator(argc, argv, code, [&](const WireHello&, const auto& words) { return code.take(words); });
}

int run_assimilator(int argc, char** argv, AssimilatorCode& code) {
    if (std::getenv(kWireSocket) == nullptr)
        return become_daemon("sluice_assimilator", argc, argv, [&] { return code.usage(); });
    return serve_assimilator(argc, argv, code, [&](const WireHello&, const auto& words) { return code.take(words); });
}

}  // namespace sluice
