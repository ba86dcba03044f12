// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/support/notify_socket.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ServiceManagerTest : public testing::Test {
  protected:
    ServiceManager started(const std::string& socket, const std::string& patience = "", const std::string& pid = "") {
        const Variable a("NOTIFY_SOCKET", socket), b("WATCHDOG_USEC", patience), c("WATCHDOG_PID", pid);
        ServiceManager manager = ServiceManager::from_environment();
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
            EXPECT_EQ(std::getenv(name), nullptr) << "a script would speak for its daemon";
        return manager;
    }
    TempDir dir_;
    NotifySocket socket_{(dir_ / "notify").string()};
};

TEST_F(ServiceManagerTest, HearsOfTheFirstGoodTurnOnce) {
    ServiceManager manager = started(socket_.name());
    EXPECT_TRUE(manager.listens());
    manager.status("looks\nREADY=1");
    manager.alive();
    EXPECT_THAT(socket_.told(), ElementsAre("STATUS=looks READY=1\nEXTEND_TIMEOUT_USEC=300000000\n"));
    manager.ready("well"), manager.ready("well");
    EXPECT_THAT(socket_.told(), ElementsAre(testing::_, "READY=1\nSTATUS=well\n"));
    manager.stopping("by hand");
    EXPECT_THAT(socket_.told().back(), "STOPPING=1\nSTATUS=by hand");
}

TEST_F(ServiceManagerTest, FeedsItsWatchdogOnceASecondWhenReady) {
    ServiceManager manager = started(socket_.name(), "20000000", std::to_string(::getpid()));
    manager.alive();
    EXPECT_THAT(socket_.told(), ElementsAre("EXTEND_TIMEOUT_USEC=20000000\n"));
    manager.ready("");
    for (int i = 0; i < 1000; ++i) manager.alive();
    EXPECT_THAT(socket_.told(), ElementsAre(testing::_, "READY=1\nWATCHDOG=1\n"));
    ASSERT_TRUE(eventually([&] { return manager.alive(), socket_.told().size() > 2; }));
    EXPECT_EQ(socket_.told().back(), "WATCHDOG=1\n");
}

TEST_F(ServiceManagerTest, AnotherProcessIsWatchedNotThisOne) {
    ServiceManager manager = started(socket_.name(), "20000000", "1");
    manager.ready("");
    EXPECT_THAT(socket_.told(), ElementsAre("READY=1\n"));
}

TEST_F(ServiceManagerTest, AnAbstractNameIsOneToo) {
    NotifySocket abstract("@sluice-test-" + std::to_string(::getpid()));
    started(abstract.name()).ready("");
    EXPECT_THAT(abstract.told(), ElementsAre("READY=1\n"));
}

TEST_F(ServiceManagerTest, WhatDidNotArriveIsToldAgain) {
    const std::string late = (dir_ / "late").string();
    ServiceManager manager = started(late, "20000000");
    manager.ready("");
    NotifySocket there(late);
    ASSERT_TRUE(eventually([&] { return manager.alive(), !there.told().empty(); }));
    EXPECT_EQ(there.told()[0], "READY=1\nWATCHDOG=1\n");
}

TEST_F(ServiceManagerTest, WhereNobodyListensNothingIsSent) {
    for (const std::string& name : {std::string(), std::string("relative"), std::string("/"),
                                    "/" + std::string(200, 'x'), std::string("vsock:2:1234")}) {
        ServiceManager manager = started(name);
        EXPECT_FALSE(manager.listens()) << name;
        manager.status("x"), manager.ready("x"), manager.alive(), manager.stopping("x"),
            manager.leave_to_the_next(false);
    }
    EXPECT_FALSE(ServiceManager().listens());
    EXPECT_THAT(socket_.told(), IsEmpty());
}

TEST_F(ServiceManagerTest, AProgramThatIsSilentIsNotWatched) {
    started(socket_.name(), "20000000").leave_to_the_next(false);
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
    ASSERT_EQ(socket_.told().size(), 1u);
    EXPECT_THAT(socket_.told()[0], HasSubstr("READY=1\n"));
    EXPECT_THAT(socket_.told()[0], HasSubstr("\nWATCHDOG_USEC=0"));
}

TEST_F(ServiceManagerTest, AProgramThatSpeaksGetsTheEnvironmentBack) {
    ServiceManager manager = started(socket_.name(), "20000000");
    manager.status("waits");
    manager.leave_to_the_next(true);
    EXPECT_STREQ(std::getenv("NOTIFY_SOCKET"), socket_.name().c_str());
    EXPECT_STREQ(std::getenv("WATCHDOG_USEC"), "20000000");
    EXPECT_EQ(std::getenv("WATCHDOG_PID"), nullptr) << "there was none";
    ServiceManager::from_environment().ready("well");
    EXPECT_THAT(socket_.told().back(), HasSubstr("READY=1"));
}

}  // namespace
}  // namespace sluice::test
