// file_upload_handler: takes the output files of jobs. One program for CGI and FastCGI: it is FastCGI if its stdin is a
// listening socket.
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "sched/upload/site.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"

namespace {

using namespace sluice;
using namespace sluice::upload;

volatile std::sig_atomic_t stop_signal = 0, reopen_log = 0;
volatile std::sig_atomic_t nowhere = -1;  // /dev/null, as FastCGI

/// The listening socket is put aside as well: libfcgi goes on from a read that was interrupted to an accept().
void on_stop(int signal) {
    stop_signal = signal;
    if (nowhere >= 0) ::dup2(nowhere, STDIN_FILENO);
}
void on_reopen(int) { reopen_log = 1; }

/// `flags` 0: a waiting read returns.
void handle_signal(int signal, void (*handler)(int), int flags = 0) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    ::sigaction(signal, &action, nullptr);
}

void install_signal_handlers() {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) handle_signal(signal, on_stop);
    handle_signal(SIGUSR2, on_reopen, SA_RESTART);  // uploads go on
    handle_signal(SIGPIPE, SIG_IGN);
}

/// log_HOST/file_upload_handler.log; stderr if it can't be opened.
void open_log(const std::filesystem::path& project, const std::string& variety) {
    LogOptions options;
    options.with_pid = true;
    const auto folder = log_dir(project);
    // Sticky and open to the group, so that what the web server puts there can be kept apart from the daemons' logs.
    if (::mkdir(folder.c_str(), 01770) == 0 && ::chmod(folder.c_str(), 01770) != 0) errno = 0;
    options.file = (folder / ("file_upload_handler" + variety + ".log")).string();
    try {
        log_open(options);
    } catch (const Error& e) {
        options.file.clear();
        log_open(options);
        log_critical("{}", e.what());
    }
}

std::optional<std::uint64_t> content_length(const char* text) {
    if (!text || !*text) return std::nullopt;
    const auto value = parse_int(text);
    if (!value || *value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::string serve(Site& site, BodyReader& body, const char* client) {
    const std::string address = client ? client : "unknown";
    Answer answer;
    try {
        if (const auto not_ready = site.refresh()) {
            answer.status = Answer::Status::kTransient;
            answer.message = not_ready->message;
            log_normal("Returning error to client {}: {} (transient)", address, answer.message);
            body.drain(std::chrono::minutes(1));
        } else {
            answer = handle_upload_request(body, site.settings(), address);
        }
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        answer = {Answer::Status::kTransient, "server error", {}};
    }
    return answer_text(answer);
}

int serve_cgi(Site& site) {
    BodyReader body(read_from_fd(STDIN_FILENO, [] { return stop_signal != 0; }),
                    content_length(std::getenv("CONTENT_LENGTH")));
    std::cout << serve(site, body, std::getenv("REMOTE_ADDR")) << std::flush;
    if (stop_signal == 0) return 0;
    log_normal("IP={} caught signal {}", std::getenv("REMOTE_ADDR") ? std::getenv("REMOTE_ADDR") : "unknown",
               static_cast<int>(stop_signal));
    return 1;
}

/// On a connection that the web server keeps, or a new one: libfcgi would wait there deaf to signals. False: one came.
bool wait_for_request(const FCGX_Request& request) {
    constexpr int kPause = 1000;  // ms; for a signal that came just before poll()
    const bool kept = request.keepConnection != 0 && request.ipcFd >= 0;
    while (stop_signal == 0 && reopen_log == 0) {
        pollfd ready{kept ? request.ipcFd : STDIN_FILENO, POLLIN, 0};
        if (::poll(&ready, 1, kPause) > 0) return true;
    }
    return false;
}

int serve_fastcgi(Site& site) {
    FCGX_Request request{};
    if (FCGX_InitRequest(&request, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) return 1;
    nowhere = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (stop_signal == 0) {
        if (reopen_log != 0) {
            reopen_log = 0;
            log_reopen();
        }
        if (!wait_for_request(request)) continue;
        const int accepted = FCGX_Accept_r(&request);
        if (accepted < 0) {
            if (stop_signal != 0 || errno != EINTR) break;
            continue;
        }
        BodyReader body(
            [&](char* buffer, std::size_t size, Milliseconds) -> std::size_t {  // the web server has its own patience
                const int got = FCGX_GetStr(buffer, static_cast<int>(std::min<std::size_t>(size, 1 << 20)), request.in);
                return got > 0 ? static_cast<std::size_t>(got) : 0;
            },
            content_length(FCGX_GetParam("CONTENT_LENGTH", request.envp)));
        const std::string text = serve(site, body, FCGX_GetParam("REMOTE_ADDR", request.envp));
        FCGX_PutStr(text.data(), static_cast<int>(text.size()), request.out);
        FCGX_Finish_r(&request);
    }
    log_normal("caught signal {}, or the web server closed the socket", static_cast<int>(stop_signal));
    return 0;
}

std::optional<int> parse_arguments(int argc, char** argv, std::string& variety) {
    // A web server hands a query string without '=' over as arguments: they are not the admin's.
    if (std::getenv("GATEWAY_INTERFACE") || std::getenv("REQUEST_METHOD")) return std::nullopt;
    CommandLine line("file_upload_handler", "take the output files of jobs (CGI or FastCGI)",
                     "Receives files from clients, checks the certificates that the project signed, and stores them "
                     "below upload_dir. Run by the web server.");
    line.option("-u,--variety", variety,
                "suffix _V of the log file and of upload_dir, for several handlers side by side", "V");
    line.section("FILES",
                 "keys/upload_public unless ignore_upload_certificates is set; stop_upload in the project: "
                 "clients are told to come back; log_HOST/file_upload_handler[_V].log.");
    line.section("SIGNALS",
                 "HUP, INT, QUIT, TERM, USR1: end, what has arrived stays and can be resumed. USR2: reopen "
                 "the log (FastCGI).");
    return line.parse(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    std::string variety;
    if (const auto status = parse_arguments(argc, argv, variety)) return *status;
    if (!variety.empty()) variety.insert(0, "_");
    install_signal_handlers();
    try {
        const auto project = find_project_dir();
        open_log(project, variety);
        Site site(project, variety);
        const bool cgi = FCGX_IsCGI() != 0;
        if (!cgi && FCGX_Init() != 0) throw Error("can't start FastCGI");
        return cgi ? serve_cgi(site) : serve_fastcgi(site);
    } catch (const std::exception& e) {
        std::cerr << "file_upload_handler: " << e.what() << "\n";
        BodyReader(read_from_fd(STDIN_FILENO, [] { return stop_signal != 0; }),
                   content_length(std::getenv("CONTENT_LENGTH")))
            .drain(std::chrono::minutes(1));
        std::cout << answer_text({Answer::Status::kTransient, "can't find the project", {}}) << std::flush;
        return 1;
    }
}
