// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_validator: validates results with a project's own program, which says what they are worth. That program,
// linked with the installed library, starts it.
#include <algorithm>

#include "config/project_config.h"
#include "daemons/handlers/code_options.h"
#include "daemons/handlers/program_judge.h"
#include "daemons/validator/program.h"

namespace sluice {
namespace {

/// A judge and the process that it asks.
class OwnProcessJudge final : public Judge {
  public:
    OwnProcessJudge(const CodeOptions& code, WireHello hello) : process_(code.start(), std::move(hello)) {
        process_.start();  // what can't begin is said at once
    }
    bool reads_stderr() const override { return true; }
    std::size_t judge(const App& app, std::span<JudgedWorkunit> workunits) override {
        return judge_.judge(app, workunits);
    }

  private:
    HandlerProcess process_;
    ProgramJudge judge_{process_};
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CodeOptions code;
    const ValidatorOptions* options = nullptr;
    const ValidatorProgram program{
        .name = "sluice_validator",
        .summary = "validate results with a project's own program",
        .description = CodeOptions::description("results are worth"),
        .options =
            [&](CommandLine& line, ValidatorOptions& o) {
                options = &o;
                code.define(line);
            },
        .check = [&] { return code.check(); },
        .gives_credit = [] { return true; },
        .judge = [&](const ProjectConfig& config, const DaemonStart& start) -> std::unique_ptr<Judge> {
            WireHello hello = hello_of(config, start, options->app_name);
            hello.max_granted_credit = options->max_granted_credit;
            return std::make_unique<OwnProcessJudge>(code, std::move(hello));
        }};
    return validator_main(program, argc, argv);
}
