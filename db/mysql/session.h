// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Sets a new connection up with one statement. Connector/C++ 1.1 sends three of its own after the handshake
// (autocommit, isolation level, a SHOW VARIABLES for metadata that Sluice never asks for). A CGI is a process per
// request and an RPC has six statements in all, so they are withheld at the border to the client library: while
// a SessionSetup lives, the calls of this thread go through the functions that the linker puts in their place
// (--wrap, db/CMakeLists.txt). tests/db/mysql checks with the server's own counters that it stays so.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "sluice/db/database.h"

struct st_mysql;

namespace sluice {

class SessionSetup {
  public:
    explicit SessionSetup(const DbSettings& settings);
    SessionSetup(const SessionSetup&) = delete;
    SessionSetup& operator=(const SessionSetup&) = delete;
    ~SessionSetup();

    /// The client library's handle; nullptr as long as nothing was sent.
    st_mysql* handle() const { return handle_; }
    int statements() const { return statements_; }

    // What the wrapped functions ask.
    static SessionSetup* active();
    enum class Call { kPassOn, kReplaceBySetup, kWithhold };
    Call judge(st_mysql* handle, const std::string& statement);
    std::string setup_statement() const;  ///< of a strict session (unfit.h)
    /// True once after a withheld query: its result set must be made up.
    bool take_withheld_result();

  private:
    const DbSettings& settings_;
    st_mysql* handle_ = nullptr;
    int statements_ = 0;
    bool withheld_result_ = false;
};

/// While it lives, waits of this thread on connections that native_heed_silence() was told of end when the server is
/// gone: `alive` is asked after each `silence` s without a word of it; if it says no twice in a row, the connection is
/// lost (2013). What the server still works on is waited for, however long it takes.
class SilenceWatch {
  public:
    SilenceWatch(double silence, std::function<bool()> alive);
    SilenceWatch(const SilenceWatch&) = delete;
    SilenceWatch& operator=(const SilenceWatch&) = delete;
    ~SilenceWatch();

    // What the waiting function asks.
    static const SilenceWatch* active();
    int milliseconds() const { return milliseconds_; }
    bool alive() const noexcept;

  private:
    int milliseconds_;
    std::function<bool()> alive_;
    const SilenceWatch* outer_;  ///< of a connection whose rows are being read
};
void native_heed_silence(st_mysql* handle);

/// The id of the row that the last INSERT on this connection made.
std::int64_t native_insert_id(st_mysql* handle);
/// Not MySQL, which has no blocks of statements outside stored programs.
bool native_is_mariadb(st_mysql* handle);
/// EXECUTE … USING takes any expression (MariaDB from 10.2.3 on).
bool native_executes_with_values(st_mysql* handle);
/// A machine that lost its power says nothing, and a client waits for its connection a quarter of an hour, or for
/// hours. From now on it waits half a minute. (Of a server that is there and says nothing: SilenceWatch.) Nothing for a
/// unix socket.
void native_notice_dead_peer(st_mysql* handle);
/// Programs that this one starts do not get the connection. (The client library lets them.)
void native_close_on_exec(st_mysql* handle);
/// Of the last statement.
unsigned native_warnings(st_mysql* handle);
/// Code and text of the last call's error; 0: there was none.
std::pair<int, std::string> native_error(st_mysql* handle);
/// The server's number of this connection, as KILL takes it.
std::uint64_t native_session(st_mysql* handle);

}  // namespace sluice
