// SPDX-License-Identifier: LGPL-3.0-or-later
// file_upload_handler: takes the output files of jobs. One program for CGI and FastCGI: it is FastCGI if its stdin is a
// listening socket.
#include <fcntl.h>
#include <nss.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "sched/upload/resident.h"
#include "sched/upload/site.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
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
    make_log_folder(project, ::geteuid());
    options.file = (log_dir(project) / ("file_upload_handler" + variety + ".log")).string();
    try {
        log_open(options);
    } catch (const Error& e) {
        options.file.clear();
        log_open(options);
        log_critical("{}", e.what());
    }
}

bool stopped() { return stop_signal != 0; }

/// Looked at between requests: the log was moved away.
bool ended() {
    if (reopen_log != 0) {
        reopen_log = 0;
        log_reopen();
    }
    return stopped();
}

BodyReader body_of(Gateway& gateway) {
    const std::string text = gateway.variable("CONTENT_LENGTH");
    const auto length = text.empty() ? std::nullopt : parse_int(text);
    if (!length || *length < 0) return {read_from(gateway, stopped), std::nullopt};
    return {read_from(gateway, stopped), static_cast<std::uint64_t>(*length)};
}

std::string serve(Site& site, BodyReader& body, const std::string& address) {
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

/// The address of the last client.
std::string serve_all(Site& site, Gateway& gateway) {
    std::string address;
    for (bool first = true; gateway.accept(); first = false) {
        if (!first) log_follow_rotation();
        address = gateway.variable("REMOTE_ADDR");
        if (address.empty()) address = "unknown";
        BodyReader body = body_of(gateway);
        gateway.write(serve(site, body, address));
        gateway.finish();
    }
    return address;
}

int serve_requests(Site& site, Gateway& gateway) {
    const std::string address = serve_all(site, gateway);
    if (gateway.persistent())
        log_normal("caught signal {}, or the web server closed the socket", static_cast<int>(stop_signal));
    else if (stopped())
        log_normal("IP={} caught signal {}", address, static_cast<int>(stop_signal));
    return stopped() && !gateway.persistent() ? 1 : 0;
}

/// For the requests that other processes of this program hand over (relay_start.cpp).
int serve_as_resident() {
    const auto project = find_project_dir();
    if (::geteuid() == 0) refuse_root("file_upload_handler", project);
    ::setenv("BOINC_PROJECT_DIR", project.c_str(), 1);  // the current folder changes
    open_log(project, "");
    const auto worker = [&](const RelayPlace& place) {
        open_log(project, "");  // with this process's number
        Site site(project, "");
        RelayGateway gateway(place, ended);
        serve_all(site, gateway);
    };
    return serve_relays(project, worker, ended);
}

struct UploadArguments {
    std::string variety;
    bool resident = false;
};

std::optional<int> parse_arguments(int argc, char** argv, UploadArguments& arguments) {
    // A web server hands a query string without '=' over as arguments: they are not the admin's.
    if (std::getenv("GATEWAY_INTERFACE") || std::getenv("REQUEST_METHOD")) return std::nullopt;
    CommandLine line("file_upload_handler", "take the output files of jobs (CGI or FastCGI)",
                     "Receives files from clients, checks the certificates that the project signed, and stores them "
                     "below upload_dir. Run by the web server.");
    line.option("-u,--variety", arguments.variety,
                "suffix _V of the log file and of upload_dir, for several handlers side by side", "V");
    line.flag("--resident", arguments.resident,
              "as a daemon of the project: take what the web server's processes of this program receive. That saves "
              "most of the cost of a small upload. Where it does not run, they do it themselves");
    line.section(
        "FILES",
        "keys/upload_public unless ignore_upload_certificates is set; stop_upload in the project: "
        "clients are told to come back; log_HOST/file_upload_handler[_V].log; pid_HOST/upload.sock, where --resident listens.");
    line.section("SIGNALS",
                 "HUP, INT, QUIT, TERM, USR1: end, what has arrived stays and can be resumed. USR2: reopen "
                 "the log (FastCGI; a log that was moved away is noticed at the next request anyhow).");
    if (const auto status = line.parse(argc, argv)) return status;
    if (arguments.resident && !arguments.variety.empty()) return line.fail("--resident serves no variety");
    return std::nullopt;
}

/// In error texts accounts that are not in /etc/passwd and /etc/group have numbers: the modules that know more of them
/// (systemd, LDAP) can't be loaded into a program that was linked statically, which would crash.
void know_accounts_of_files_only() {
    ::__nss_configure_lookup("passwd", "files");
    ::__nss_configure_lookup("group", "files");
}

}  // namespace

int main(int argc, char** argv) {
    know_accounts_of_files_only();
    UploadArguments arguments;
    if (const auto status = parse_arguments(argc, argv, arguments)) return *status;
    const std::string variety = arguments.variety.empty() ? "" : "_" + arguments.variety;
    install_signal_handlers();
    if (arguments.resident) {
        try {
            return serve_as_resident();
        } catch (const std::exception& e) {
            std::cerr << "file_upload_handler: " << e.what() << "\n";
            return 1;
        }
    }
    const auto gateway = make_gateway(ended, {SIGUSR2});
    if (gateway->persistent()) nowhere = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    try {
        const auto project = find_project_dir();
        open_log(project, variety);
        Site site(project, variety);
        return serve_requests(site, *gateway);
    } catch (const std::exception& e) {
        std::cerr << "file_upload_handler: " << e.what() << "\n";
        if (gateway->accept()) {
            body_of(*gateway).drain(std::chrono::minutes(1));
            gateway->write(answer_text({Answer::Status::kTransient, "can't find the project", {}}));
            gateway->finish();
        }
        return 1;
    }
}
