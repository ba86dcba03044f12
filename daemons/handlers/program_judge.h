// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's program as a judge: it says what results are worth, from another process.
#include <span>
#include <string>

#include "daemons/handlers/handler_process.h"
#include "daemons/validator/judge.h"

namespace sluice {

class ProgramJudge final : public Judge {
  public:
    explicit ProgramJudge(HandlerProcess& process) : process_(process) {}

    bool reads_stderr() const override { return true; }
    std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits) override;

  private:
    void judge_one(const App& app, JudgedWorkunit& workunit);

    HandlerProcess& process_;
};

}  // namespace sluice
