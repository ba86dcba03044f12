// SPDX-License-Identifier: LGPL-3.0-or-later
// Who may use a segment, and whose segment is believed. As root the other accounts are real; as anybody else the rights
// on the files are read, which is what the kernel goes by.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "sluice/base/error.h"
#include "tests/shmem/array/array_fixture.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Access : public ArrayTest {
  protected:
    Access() {
        const passwd* found = ::getpwnam("daemon");  // every Unix has it, and nobody runs tests as it
        if (found == nullptr) throw std::runtime_error("no account daemon");
        web_ = *found;
    }
    std::unique_ptr<FeederArray> create_for_web() const {
        JobArraySettings settings;
        settings.users = {"no_such_account", "daemon"};
        auto feeder = FeederArray::create(name_, settings);
        feeder->publish(0, job_of(1), doc_of(1));
        return feeder;
    }
    std::filesystem::path content() const { return content_file(name_); }
    std::filesystem::path claims() const { return content().string() + ".claims"; }
    passwd web_{};
};

/// Rights (4 read, 2 write) by uid of an access control list; -1: everybody else.
std::map<long, int> listed(const std::filesystem::path& file) {
    unsigned char value[1024];
    const ssize_t n = ::getxattr(file.c_str(), "system.posix_acl_access", value, sizeof value);
    std::map<long, int> rights;
    for (ssize_t at = 4; at + 8 <= n; at += 8) {
        std::uint16_t tag = 0, permissions = 0;
        std::uint32_t id = 0;
        std::memcpy(&tag, value + at, 2), std::memcpy(&permissions, value + at + 2, 2);
        std::memcpy(&id, value + at + 4, 4);
        if (tag == 2) rights[id] = permissions;
        if (tag == 0x20) rights[-1] = permissions;
    }
    return rights;
}

TEST_F(Access, TheWebServerWritesClaimsOnly) {
    const auto feeder = create_for_web();
    EXPECT_THAT(feeder->access_note(), HasSubstr("access control list"));
    const std::map<long, int> reads{{web_.pw_uid, 4}, {-1, 0}}, writes{{web_.pw_uid, 6}, {-1, 0}};
    EXPECT_EQ(listed(content()), reads);
    EXPECT_EQ(listed(claims()), writes);
}

TEST_F(Access, WithoutWebServersAccountFilesAreGroups) {
    const auto feeder = create(1);
    struct stat info {};
    ASSERT_EQ(::stat(content().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640u);
    ASSERT_EQ(::stat(claims().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0660u);
}

/// Mappings of this process of the content, by rights ("rw-s", "r--s").
std::map<std::string, int> mappings_of(const std::filesystem::path& file) {
    std::map<std::string, int> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(file.string())) ++found[line.substr(line.find(' ') + 1, 4)];
    return found;
}

/// What a scheduler has mapped of the content it can't write, be its code ever so wrong.
TEST_F(Access, SchedulersMappingOfContentIsReadOnly) {
    const auto feeder = create_for_web();
    const int of_feeder = mappings_of(content())["rw-s"];
    EXPECT_GT(of_feeder, 0);
    const auto scheduler = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(scheduler->read(0, job, ref), SlotState::kPresent);
    ASSERT_TRUE(scheduler->peek_doc(ref)) << "the pool is mapped too";
    EXPECT_EQ(mappings_of(content())["rw-s"], of_feeder);
    EXPECT_GT(mappings_of(content())["r--s"], 0);
}

TEST_F(Access, RealAccountsGetWhatTheyMay) {
    if (::geteuid() != 0) {
        // Without root there is no other account to be: its rights are those of the test above.
        EXPECT_NE(web_.pw_uid, ::geteuid());
        return;
    }
    std::filesystem::permissions(project_, std::filesystem::perms(0755));
    const auto feeder = create_for_web();
    const std::string content_path = content(), claims_path = claims();
    const auto as = [&](uid_t uid, gid_t gid) {
        return wait_for(in_child([&] {
            if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) return 98;
            try {
                const auto array = SchedulerArray::attach(name_);
                if (::open(content_path.c_str(), O_RDWR) >= 0) return 5;
                JobSummary job;
                SlotRef ref;
                if (array->read(0, job, ref) != SlotState::kPresent) return 2;
                return array->claim(ref) ? 0 : 3;
            } catch (const ShmemError& e) {
                return std::string(e.what()).find("httpd_user") != std::string::npos ? 1 : 4;
            }
        }));
    };
    EXPECT_EQ(as(web_.pw_uid, web_.pw_gid), 0) << feeder->access_note();
    EXPECT_EQ(as(65534, 65534), 1) << "refused, with what to do";
}

// ------------------------------------------------------------------------------------------------ whose it is

/// The name can't be squatted: it is another each time, and what stands there already is no concern of ours.
TEST_F(Access, TheNameCantBeKnownBefore) {
    std::set<std::string> names;
    for (int i = 0; i < 5; ++i) names.insert(create(1)->segment());
    EXPECT_EQ(names.size(), 5u);
    for (const std::string& name : names) EXPECT_EQ(name.size(), name_.prefix.size() + 33) << "128 bits";
}

/// A segment under the name that was taken until now, made by somebody before the first feeder started.
TEST_F(Access, ASquattersSegmentIsNotAttached) {
    const auto feeder = create(1);
    const auto from = content(), its_claims = claims();
    std::filesystem::copy_file(from, "/dev/shm/" + name_.prefix + "_squatted");
    std::filesystem::copy_file(its_claims, "/dev/shm/" + name_.prefix + "_squatted.claims");
    feeder->close_and_remove();
    EXPECT_THROW(SchedulerArray::attach(name_), FeederNotRunning) << "the project's folder names none";
}

TEST_F(Access, PublicationThatOthersMayWriteIsNotBelieved) {
    const auto feeder = create(1);
    std::filesystem::permissions(name_.publication, std::filesystem::perms(0664));
    EXPECT_THAT([&] { SchedulerArray::attach(name_); },
                ThrowsMessage<ShmemError>(::testing::AllOf(HasSubstr("not believed"), HasSubstr("mode 664"))));
    std::filesystem::remove(name_.publication);
    std::filesystem::create_symlink("/etc/hostname", name_.publication);
    EXPECT_THROW(SchedulerArray::attach(name_), ShmemError);
    std::filesystem::remove(name_.publication);
    ASSERT_EQ(::mkfifo(name_.publication.c_str(), 0600), 0);
    EXPECT_THAT([&] { SchedulerArray::attach(name_); }, ThrowsMessage<ShmemError>(HasSubstr("is no file")))
        << "at once: it does not wait for a writer";
}

TEST_F(Access, APublicationCantLeadElsewhere) {
    const auto feeder = create(1);
    for (const std::string& text :
         std::vector<std::string>{"", "../../etc/passwd", "other_0123456789", name_.prefix + "_../x", "\n\n"}) {
        std::ofstream(name_.publication) << text;
        EXPECT_THROW(SchedulerArray::attach(name_), FeederNotRunning) << text;
    }
}

TEST_F(Access, ContentThatOthersMayWriteIsNotBelieved) {
    const auto feeder = create(1);
    std::filesystem::permissions(content(), std::filesystem::perms(0660));
    EXPECT_THAT([&] { SchedulerArray::attach(name_); },
                ThrowsMessage<ShmemError>(::testing::AllOf(HasSubstr("not believed"), HasSubstr("mode 660"))));
}

/// The claims of one segment with the content of another.
TEST_F(Access, ClaimsOfAnotherSegmentAreRefused) {
    const auto feeder = create(1);
    const auto file = claims();
    const auto other = std::filesystem::path(file.string() + ".new");
    std::filesystem::copy_file(file, other);
    std::filesystem::rename(other, file);
    EXPECT_THAT([&] { SchedulerArray::attach(name_); }, ThrowsMessage<ShmemError>(HasSubstr("does not belong")));
}

/// Deleted lock files (the folder pid_HOST) let no second feeder in.
TEST_F(Access, ALivingFeedersSegmentIsNotTakenOver) {
    int up[2], down[2];
    ASSERT_EQ(::pipe(up) + ::pipe(down), 0);
    const pid_t pid = in_child([&] {
        const auto feeder = create(1);
        char c = 1;
        return ::write(up[1], &c, 1) == 1 && ::read(down[0], &c, 1) == 1 ? 0 : 1;
    });
    char c = 0;
    ASSERT_EQ(::read(up[0], &c, 1), 1);
    std::filesystem::remove(name_.lock_file);
    EXPECT_THAT([&] { create(1); }, ThrowsMessage<ShmemError>(HasSubstr("PID " + std::to_string(pid))));
    EXPECT_TRUE(SchedulerArray::attach(name_)->current()) << "and no harm was done";
    ASSERT_EQ(::write(down[1], &c, 1), 1);
    EXPECT_EQ(wait_for(pid), 0);
    EXPECT_NO_THROW(create(1));
    for (const int fd : {up[0], up[1], down[0], down[1]}) ::close(fd);
}

}  // namespace
}  // namespace sluice::test
