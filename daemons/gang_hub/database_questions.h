// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A thread that asks the database the hub's questions, one after the other. So members' messages never wait for the
// database.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemons/gang_hub/hub_questions.h"
#include "sluice/base/files.h"

namespace sluice {

class DatabaseQuestions final : public HubQuestions {
  public:
    /// `most`: questions that are not answered yet, and answers that nobody has taken yet. `directory` outlives this.
    DatabaseQuestions(GangDirectory& directory, std::size_t most);
    /// Waits for the question that is being asked.
    ~DatabaseQuestions() override;
    DatabaseQuestions(const DatabaseQuestions&) = delete;
    DatabaseQuestions& operator=(const DatabaseQuestions&) = delete;

    /// From now on the directory belongs to the desk's thread.
    void open();
    bool ask(HubQuestion question) override;
    /// A descriptor that can be read while there are answers.
    int signal() const { return signal_.get(); }
    std::vector<HubAnswer> take();
    /// Questions whose answer nobody has taken yet.
    std::size_t waiting();

  private:
    void run();
    void keep(HubAnswer answer);

    GangDirectory& directory_;
    const std::size_t most_;
    OwnedFd signal_;
    std::mutex lock_;  ///< of all below but the thread
    std::condition_variable news_;
    std::deque<HubQuestion> asked_;
    std::vector<HubAnswer> answers_;
    std::size_t waiting_ = 0;
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace sluice
