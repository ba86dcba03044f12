// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Stands between a program and the database server, on a unix socket of its own, and cuts a connection where a test
// wants it: before a statement is handed on, or after the server has done it and before its answer is handed back.
// Programs find it by $MYSQL_UNIX_PORT.
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace sluice::test {

class SqlProxy {
  public:
    enum class Action {
        kPass,
        kCutBefore,    ///< the server never sees the statement, and sees the connection end
        kCutAfter,     ///< the server has done it; its answer is lost
        kRefuse,       ///< the server never sees the statement; an error (refusal()) is the answer
        kRefuseAfter,  ///< the server has done it, and its answer is replaced by that error
        kHang,         ///< the server sees neither the statement nor the end of the connection, until the proxy ends
    };
    /// `judge` is asked for each statement of each connection, with its text and its number (from 1) among all of them.
    using Judge = std::function<Action(const std::string& text, int number)>;
    SqlProxy(std::filesystem::path server_socket, Judge judge);
    SqlProxy(const SqlProxy&) = delete;
    SqlProxy& operator=(const SqlProxy&) = delete;
    ~SqlProxy();

    /// The server's code of the error that stands for it.
    void set_refusal(int code) { refusal_ = code; }
    std::filesystem::path socket() const { return folder_ / "proxy"; }
    /// COMMIT, alone or at the end of a block of writes.
    static bool commits(const std::string& text) { return text == "COMMIT" || text.ends_with(";COMMIT;END"); }
    int statements() const { return statements_; }  ///< seen up to now
    int cuts() const { return cuts_; }              ///< made up to now

  private:
    void accept_all();
    void serve(int client);
    void relay(int client, int server);
    bool pass_statement(int client, int server);
    bool refuse(int client) const;

    TempDir folder_;
    std::filesystem::path server_socket_;
    Judge judge_;
    std::mutex judging_;
    std::atomic<int> statements_{0}, cuts_{0}, refusal_{1105};
    int listener_ = -1, stop_[2] = {-1, -1};
    std::mutex open_;
    std::vector<int> hanging_;
    std::vector<std::thread> connections_;
    std::thread acceptor_;
};

}  // namespace sluice::test
