// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The project of tests/captures as it was when a capture was taken: what the reply shows (app versions, jobs, account,
// host) is taken apart into the rows that the database must have held, and the request then goes through the real
// pipeline. Versions are those of all captures together, so that the choice among them is the scheduler's.
#include <string>
#include <vector>

#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/model/job.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {

class CapturedProject {
  public:
    explicit CapturedProject(const std::string& capture);

    RpcWorld world;
    std::string request, reply;  ///< as captured
    std::int64_t now = 0;

    /// More jobs like those of the reply, behind them in the array: what is not sent is a decision too.
    void add_more_jobs(int n, Id app = 1);
    /// A result in progress on the request's host.
    Result& in_progress(const std::string& name);
    /// Lets the pipeline answer, on the fakes or on `db`.
    std::string answer(Database* db);

  private:
    void options();
    void versions();
    void account();
    void host();
    void jobs();
    Id hostid_;
};

/// All texts between `open` and `close`.
std::vector<std::string> parts_of(const std::string& text, const std::string& open, const std::string& close);
/// The first such text; "" if there is none.
std::string part_of(const std::string& text, const std::string& open, const std::string& close);

}  // namespace sluice::test
