// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What tests about jobs of real clients share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/real/client_world.h"

namespace sluice::test {

class RealClient : public testing::Test {
  protected:
    RealClient() : name_(testing::UnitTest::GetInstance()->current_test_info()->name()), key_(world_.add_user(name_)) {}

    /// Columns of the only result of a workunit.
    std::vector<std::string> result(Id workunit, SqlLiteral columns, int n) {
        Sql query("SELECT ");
        query << columns << " FROM result WHERE workunitid=" << workunit;
        const auto rows = rows_of(world_.db(), query, n);
        return rows.size() == 1 ? rows.front() : std::vector<std::string>{"not one result"};
    }
    std::int64_t server_state(Id workunit) {
        return world_.number(Sql("SELECT IFNULL(MAX(server_state),0) FROM result WHERE workunitid=") << workunit);
    }
    std::int64_t outcome(Id workunit) {
        return world_.number(Sql("SELECT IFNULL(MAX(outcome),-1) FROM result WHERE workunitid=") << workunit);
    }
    /// The name of the only result of a workunit.
    std::string job_name(Id workunit) {
        return world_.text(Sql("SELECT name FROM result WHERE workunitid=") << workunit);
    }
    bool running(const Volunteer& v, Id workunit) { return v.state_of_task(job_name(workunit)) == "EXECUTING"; }
    /// A job that runs until release(`until`), running on `v`.
    Id running_job(Volunteer& v, const std::string& until) {
        const Id job = world_.add_job("wait " + world_.control_file(until));
        EXPECT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
        return job;
    }

    ClientWorld& world_ = ClientWorld::shared();
    std::string name_, key_;
};

}  // namespace sluice::test
