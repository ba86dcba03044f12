// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_dummy_assimilator: says what came in, and keeps nothing. Upstream's program of that name, same options and
// lines.
#include "daemons/assimilator/one_by_one.h"
#include "daemons/assimilator/program.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

class DummyHandler final : public OneByOneHandler {
  public:
    using OneByOneHandler::OneByOneHandler;
    std::string name() const override { return "sample_dummy_assimilator"; }
    bool reads_files() const override { return false; }

  private:
    std::optional<std::string> store(const FinishedWorkunit& workunit) override {
        const auto& [wu, canonical, files] = workunit;
        log_normal("Assimilating {}", wu.name);
        if (canonical)
            log_normal("Found canonical result");
        else
            log_normal("[{}] No canonical result", wu.name);
        if ((wu.error_mask & kWuCouldntSend) != 0) log_warning("[{}] Warning: couldn't send result", wu.name);
        if ((wu.error_mask & kWuTooManyErrors) != 0) log_warning("[{}] Warning: too many error results", wu.name);
        if ((wu.error_mask & kWuTooManyTotal) != 0) log_warning("[{}] Warning: too many total results", wu.name);
        if ((wu.error_mask & kWuTooManySuccess) != 0) log_warning("[{}] Warning: too many success results", wu.name);
        return "";
    }
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const AssimilatorProgram program{
        .name = "sample_dummy_assimilator",
        .summary = "mark finished workunits as assimilated, and keep nothing",
        .description = "For tests: it says what came in. file_deleter then deletes the output files.",
        .handler = [](const AssimilatorOptions&, const ProjectConfig&, const DaemonStart& start) {
            return std::make_unique<DummyHandler>(start.env.clock);
        }};
    return assimilator_main(program, argc, argv);
}
