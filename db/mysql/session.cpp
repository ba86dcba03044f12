// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/session.h"

#include <fcntl.h>
#include <mariadb/mysql.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "db/mysql/columns.h"
#include "db/mysql/unfit.h"

extern "C" {
int __real_mysql_real_query(MYSQL* mysql, const char* text, unsigned long length);
MYSQL_RES* __real_mysql_store_result(MYSQL* mysql);
my_bool __real_mysql_autocommit(MYSQL* mysql, my_bool mode);
int __real_ma_tls_start(char* message, size_t size);
void* __real_ma_tls_init(MYSQL* mysql);
int __wrap_mysql_real_query(MYSQL* mysql, const char* text, unsigned long length);
MYSQL_RES* __wrap_mysql_store_result(MYSQL* mysql);
my_bool __wrap_mysql_autocommit(MYSQL* mysql, my_bool mode);
int __wrap_ma_tls_start(char* message, size_t size);
void* __wrap_ma_tls_init(MYSQL* mysql);
servent* __wrap_getservbyname(const char* name, const char* protocol);
}

namespace sluice {
namespace {

thread_local SessionSetup* active_setup = nullptr;
thread_local const SilenceWatch* active_watch = nullptr;

/// The client library calls it wherever it would wait for the server. As poll(): 0 is too late.
int wait_for_server(my_socket socket, my_bool reading, int milliseconds) {
    const SilenceWatch* watch = SilenceWatch::active();
    for (int silent = 0;;) {
        pollfd server{static_cast<int>(socket), static_cast<short>(reading ? POLLIN : POLLOUT), 0};
        int ready = 0;
        do ready = ::poll(&server, 1, watch != nullptr ? watch->milliseconds() : milliseconds);
        while (ready < 0 && errno == EINTR);
        if (ready != 0) return ready;
        silent = watch != nullptr && watch->alive() ? 0 : silent + 1;
        if (watch != nullptr && silent < 2) continue;
        errno = ETIMEDOUT;
        return 0;
    }
}

/// What the session variables' names begin with differs by server and version.
std::string transaction_variable(MYSQL* mysql, const char* name) {
    const bool maria = mariadb_connection(mysql) != 0;
    const bool long_name = mysql_get_server_version(mysql) >= (maria ? 110100UL : 50720UL);
    return std::string(long_name ? "transaction_" : "tx_") + name;
}

}  // namespace

SessionSetup::SessionSetup(const DbSettings& settings) : settings_(settings) { active_setup = this; }
SessionSetup::~SessionSetup() { active_setup = nullptr; }
SessionSetup* SessionSetup::active() { return active_setup; }

SessionSetup::Call SessionSetup::judge(st_mysql* handle, const std::string& statement) {
    handle_ = handle;
    if (statement.starts_with("SHOW SESSION VARIABLES LIKE 'lower_case_table_names'")) {
        withheld_result_ = true;
        return Call::kWithhold;
    }
    ++statements_;
    return statement.starts_with("SET SESSION TRANSACTION ISOLATION LEVEL") ? Call::kReplaceBySetup : Call::kPassOn;
}

std::string SessionSetup::setup_statement() const {
    // utf8mb4 is agreed on in the handshake. NO_BACKSLASH_ESCAPES must be off: see sql.cpp.
    std::string text = "SET autocommit=1,time_zone='+00:00',";
    text += kStrictSession;
    text += ",group_concat_max_len=" + std::to_string(kLongestVersionsText);
    // The second one: a table that a backup or an ALTER TABLE has locked.
    text += settings_.turn_comes_again ? ",innodb_lock_wait_timeout=1,lock_wait_timeout=2"
            : settings_.interactive    ? ",innodb_lock_wait_timeout=2,lock_wait_timeout=2"
                                       : ",innodb_lock_wait_timeout=10";
    // MySQL's max_execution_time is for SELECT alone; what takes long here are writes that wait.
    if (settings_.interactive && mariadb_connection(handle_) != 0)
        text += ",max_statement_time=" + std::to_string(settings_.patience);
    if (settings_.read_uncommitted) text += "," + transaction_variable(handle_, "isolation") + "='READ-UNCOMMITTED'";
    if (settings_.read_only) text += "," + transaction_variable(handle_, "read_only") + "=1";
    return text;
}

bool SessionSetup::take_withheld_result() {
    const bool withheld = withheld_result_;
    withheld_result_ = false;
    return withheld;
}

SilenceWatch::SilenceWatch(double silence, std::function<bool()> alive)
    : milliseconds_(std::max(1, static_cast<int>(silence * 1000))), alive_(std::move(alive)), outer_(active_watch) {
    active_watch = this;
}
SilenceWatch::~SilenceWatch() { active_watch = outer_; }
const SilenceWatch* SilenceWatch::active() { return active_watch; }
bool SilenceWatch::alive() const noexcept {
    try {
        return alive_();
    } catch (const std::exception&) {
        return false;
    }
}

void native_heed_silence(st_mysql* handle) {
    mysql_optionsv(handle, MARIADB_OPT_IO_WAIT, wait_for_server);
    // OpenSSL waits by itself, unless the system tells it at once that there is nothing.
    const timeval at_once{0, 1000};
    if (mysql_get_ssl_cipher(handle) != nullptr)
        ::setsockopt(static_cast<int>(mysql_get_socket(handle)), SOL_SOCKET, SO_RCVTIMEO, &at_once, sizeof at_once);
}

std::int64_t native_insert_id(st_mysql* handle) {
    return handle == nullptr ? 0 : static_cast<std::int64_t>(mysql_insert_id(handle));
}

bool native_is_mariadb(st_mysql* handle) { return handle != nullptr && mariadb_connection(handle) != 0; }

bool native_executes_with_values(st_mysql* handle) {
    return native_is_mariadb(handle) && mysql_get_server_version(handle) >= 100203UL;
}

void native_notice_dead_peer(st_mysql* handle) {
    if (handle == nullptr) return;
    const int socket = static_cast<int>(mysql_get_socket(handle));
    const auto set = [&](int level, int option, int value) {
        ::setsockopt(socket, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);  // ms
}

void native_close_on_exec(st_mysql* handle) {
    if (handle != nullptr) ::fcntl(static_cast<int>(mysql_get_socket(handle)), F_SETFD, FD_CLOEXEC);
}

unsigned native_warnings(st_mysql* handle) { return handle == nullptr ? 0 : mysql_warning_count(handle); }

std::pair<int, std::string> native_error(st_mysql* handle) {
    if (handle == nullptr) return {0, ""};
    return {static_cast<int>(mysql_errno(handle)), mysql_error(handle)};
}

std::uint64_t native_session(st_mysql* handle) { return handle == nullptr ? 0 : mysql_thread_id(handle); }

}  // namespace sluice

// The linker sends Connector's calls here.

int __wrap_mysql_real_query(MYSQL* mysql, const char* text, unsigned long length) {
    using sluice::SessionSetup;
    SessionSetup* setup = SessionSetup::active();
    if (setup == nullptr) return __real_mysql_real_query(mysql, text, length);
    switch (setup->judge(mysql, std::string(text, length))) {
        case SessionSetup::Call::kWithhold: return 0;
        case SessionSetup::Call::kReplaceBySetup: {
            const std::string own = setup->setup_statement();
            return __real_mysql_real_query(mysql, own.data(), own.size());
        }
        case SessionSetup::Call::kPassOn: break;
    }
    return __real_mysql_real_query(mysql, text, length);
}

MYSQL_RES* __wrap_mysql_store_result(MYSQL* mysql) {
    sluice::SessionSetup* setup = sluice::SessionSetup::active();
    if (setup == nullptr || !setup->take_withheld_result()) return __real_mysql_store_result(mysql);
    // An empty result set: no columns, no rows, nothing to read. mysql_free_result() frees it like any other.
    auto* empty = static_cast<MYSQL_RES*>(std::calloc(1, sizeof(MYSQL_RES)));
    if (empty != nullptr) empty->eof = 1;
    return empty;
}

my_bool __wrap_mysql_autocommit(MYSQL* mysql, my_bool mode) {
    if (sluice::SessionSetup::active() != nullptr) return 0;  // part of the set-up statement
    return __real_mysql_autocommit(mysql, mode);
}

// What the library prepares in each process that uses it, before it knows whether that is needed.

/// OpenSSL: for the first connection that is encrypted.
int __wrap_ma_tls_start(char*, size_t) { return 0; }
void* __wrap_ma_tls_init(MYSQL* mysql) {
    static const bool started = [] {
        char message[256] = "";
        return __real_ma_tls_start(message, sizeof message) == 0;
    }();
    return started ? __real_ma_tls_init(mysql) : nullptr;
}

/// The port of "mysql" in /etc/services, by way of some 130 system calls. A connection is always told its port.
servent* __wrap_getservbyname(const char*, const char*) { return nullptr; }
