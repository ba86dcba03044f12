// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project with batches on a real MariaDB, and the programs that look after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sluice/model/batch.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

using Table = std::vector<std::vector<std::string>>;

class BatchFixture : public testing::Test {
  protected:
    BatchFixture();
    ~BatchFixture() override;

    /// Rows that store() puts into the database.
    App& app(Id id, int n_size_classes = 0);
    Host& host(Id id);
    Batch& batch(Id id, Id app = 1, BatchState state = BatchState::kInProgress);
    /// A workunit of the batch without results.
    Workunit& job(Id batch);
    Result& instance(const Workunit& wu, ServerState state, Id host = 0);
    /// A job that the host did in `turnaround` seconds, reported `ago` seconds ago; the workunit has its canonical
    /// result.
    Result& success(Id batch, Id host, std::int64_t turnaround, std::int64_t ago = 1000);
    Result& unsuccessful(Id batch, Id host, Outcome outcome);
    Result& in_progress(Id batch, Id host, std::int64_t age);
    Result& unsent(Id batch);
    /// A batch that `hosts` hosts did, host i in (i mod 4 == 0 ? 2000 : 500) s or as `times` says, one job each.
    void measured_batch(Id id, Id app, int hosts, int slow_every = 4);
    void store();

    void config(const std::string& more, int compat_level = 0);
    RunResult run_program(std::vector<std::string> args, double timeout = 60);
    Subprocess start_program(std::vector<std::string> args);
    /// Runs it and expects exit status 0.
    std::string run_ok(const std::vector<std::string>& args);

    Table rows(const Sql& sql, int columns) { return rows_of(db, sql, columns); }
    std::int64_t number(const Sql& sql) { return number_of(db, sql); }
    /// Until the server is done with all other connections: it logs a statement after it has answered, and reads a
    /// program's QUIT after the program has ended. False: some stay.
    bool others_are_gone();
    std::string text(const Sql& sql) { return rows_of(db, sql, 1).at(0).at(0); }

    std::int64_t now;
    FakeDb world;
    TempDir project;
    Database db;

  private:
    static std::string database_name();
    RunOptions options() const;
    Id next_result_ = 1;
};

}  // namespace sluice::test
