// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_trivial_validator: every result that a client calls a success is valid. Upstream's program of that name, same
// options.
#include "daemons/validator/program.h"

namespace sluice {
namespace {

class TrivialJudge final : public Judge {
  public:
    bool reads_files() const override { return false; }
    std::size_t judge(const App&, std::span<JudgedWorkunit> workunits) override { return workunits.size(); }
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const ValidatorProgram program{
        .name = "sample_trivial_validator",
        .summary = "accept every result that was computed",
        .description = "For tests, and for apps whose clients are trusted. Output files are not looked at.",
        .judge = [](const ProjectConfig&, const DaemonStart&) { return std::make_unique<TrivialJudge>(); }};
    return validator_main(program, argc, argv);
}
