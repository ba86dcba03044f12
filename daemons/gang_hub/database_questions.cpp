// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/database_questions.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "sluice/base/error.h"

namespace sluice {
namespace {

/// Signals are for the thread that serves the members.
class NoSignals {
  public:
    NoSignals() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace

DatabaseQuestions::DatabaseQuestions(GangDirectory& directory, std::size_t most)
    : directory_(directory), most_(most), signal_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (signal_.get() < 0) throw Error(std::string("Can't make an eventfd: ") + std::strerror(errno));
}

DatabaseQuestions::~DatabaseQuestions() {
    {
        const std::lock_guard guard(lock_);
        closing_ = true;
    }
    news_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void DatabaseQuestions::open() {
    const NoSignals inherited;
    thread_ = std::thread([this] { run(); });
}

bool DatabaseQuestions::ask(HubQuestion question) {
    {
        const std::lock_guard guard(lock_);
        if (waiting_ >= most_) return false;
        asked_.push_back(std::move(question));
        ++waiting_;
    }
    news_.notify_one();
    return true;
}

std::vector<HubAnswer> DatabaseQuestions::take() {
    const std::lock_guard guard(lock_);
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto n = ::read(signal_.get(), &rung, sizeof rung);
    waiting_ -= answers_.size();
    return std::exchange(answers_, {});
}

std::size_t DatabaseQuestions::waiting() {
    const std::lock_guard guard(lock_);
    return waiting_;
}

void DatabaseQuestions::keep(HubAnswer answer) {
    answers_.push_back(std::move(answer));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(signal_.get(), &one, sizeof one);
}

void DatabaseQuestions::run() {
    std::unique_lock guard(lock_);
    for (;;) {
        news_.wait(guard, [this] { return closing_ || !asked_.empty(); });
        if (closing_) return;
        HubQuestion question = std::move(asked_.front());
        asked_.pop_front();
        guard.unlock();
        HubAnswer answer = answer_of(directory_, std::move(question));
        guard.lock();
        const std::string trouble = answer.trouble;
        keep(std::move(answer));
        // A database that is away would let each of the others wait for as long.
        for (; !trouble.empty() && !asked_.empty(); asked_.pop_front())
            keep({.question = std::move(asked_.front()), .trouble = trouble});
    }
}

}  // namespace sluice
