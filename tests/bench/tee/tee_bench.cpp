// SPDX-License-Identifier: LGPL-3.0-or-later
// What cgi_tee adds to a request: this program itself is the cgi, which only reads the request and writes a reply. With
// and without the tee in turn (A B A B …). Prints medians and the 95th percentile of the differences, in ms of the
// clock and of the processor (the tee's two processes, too). On a machine that others use: chrt -f 1 tee_bench.
#include <fmt/core.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sched/shadow/teed_requests.h"
#include "sched/tee/installed_tee.h"
#include "sched/tee/place.h"
#include "sluice/base/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

using namespace sluice;

namespace {

constexpr std::size_t kReplyBytes = 20000;

int be_the_cgi() {
    char bytes[65536];
    while (::read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
    }
    return write_all(STDOUT_FILENO, "Content-type: text/xml\n\n" + std::string(kReplyBytes, 'x')) ? 0 : 1;
}

struct Cost {
    double clock = 0, processor = 0;  ///< ms
};

double processor_ms() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const auto ms = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1000 + static_cast<double>(t.tv_usec) / 1000;
    };
    return ms(used.ru_utime) + ms(used.ru_stime);
}

/// As mod_cgid does it: one socket for input and output. Until the end of the reply; then all processes are waited for.
Cost one_request(const fs::path& cgi, const std::string& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    const OwnedFd end(ends[0]);
    OwnedFd other(ends[1]);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::posix_spawn_file_actions_adddup2(&files, other.get(), fd);
    std::string program = cgi, method = "REQUEST_METHOD=POST", length = fmt::format("CONTENT_LENGTH={}", body.size()),
                role = "TEE_BENCH_CGI=1";
    char* argv[] = {program.data(), nullptr};
    char* env[] = {method.data(), length.data(), role.data(), nullptr};
    const double before = processor_ms();
    const auto began = std::chrono::steady_clock::now();
    pid_t pid = 0;
    if (::posix_spawn(&pid, program.c_str(), &files, nullptr, argv, env) != 0) throw std::runtime_error("posix_spawn");
    ::posix_spawn_file_actions_destroy(&files);
    other = OwnedFd();
    write_all(end.get(), body);
    ::shutdown(end.get(), SHUT_WR);
    std::size_t got = 0;
    char bytes[65536];
    for (ssize_t n = 0; (n = ::read(end.get(), bytes, sizeof bytes)) > 0;) got += static_cast<std::size_t>(n);
    Cost cost;
    cost.clock = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    if (got < kReplyBytes) throw std::runtime_error(fmt::format("a reply of {} bytes", got));
    while (::wait(nullptr) > 0) {
    }
    cost.processor = processor_ms() - before;
    return cost;
}

double at(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

void measure(const fs::path& project, const std::string& body, int pairs, const char* name) {
    std::vector<double> bare, clock, processor;
    one_request(project / "cgi-bin/cgi", body);
    for (int i = 0; i < pairs; ++i) {
        const Cost without = one_request(project / "cgi-bin" / tee::kBehind, body);
        const Cost with = one_request(project / "cgi-bin/cgi", body);
        bare.push_back(without.clock);
        clock.push_back(with.clock - without.clock);
        processor.push_back(with.processor - without.processor);
    }
    fmt::print(
        "{:>9} bytes, {}: without the tee {:.3f} ms; the tee adds {:.3f} ms (95 %: {:.3f}), processor {:.3f} ms\n",
        body.size(), name, at(bare, 0.5), at(clock, 0.5), at(clock, 0.95), at(processor, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
    if (std::getenv("TEE_BENCH_CGI") != nullptr) return be_the_cgi();
    CLI::App app("What the tee adds to a request");
    int pairs = 300;
    std::vector<std::size_t> sizes{1000, 30000, 100000, tee::kMostBytes, 5000000};
    app.add_option("--pairs", pairs);
    app.add_option("--bytes", sizes);
    CLI11_PARSE(app, argc, argv);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const test::TempDir project;
    fs::create_directory(project / "cgi-bin");
    fs::copy_file(fs::read_symlink("/proc/self/exe"), project / "cgi-bin/cgi");
    tee::install(project.path(), fs::path(test::binary_dir()) / "bin/cgi_tee");
    for (const std::size_t bytes : sizes) {
        const std::string body(bytes, 'b');
        measure(project.path(), body, pairs, "nobody looks");
        TeedRequests teed(project.path());
        std::atomic<bool> over = false;
        std::thread shadow([&] {
            TeedRequest request;
            while (!over) {
                teed.wait(std::chrono::milliseconds(5), -1);
                while (teed.take_ended(request)) request.reply_text();
            }
        });
        measure(project.path(), body, pairs, "a shadow looks");
        over = true;
        shadow.join();
    }
    return 0;
}
