// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_substr_validator: a result is good if texts stand in what its app wrote on standard error. Upstream's program
// of that name, same options.
#include <algorithm>

#include "daemons/validator/program.h"

namespace sluice {
namespace {

struct SubstrOptions {
    std::vector<std::string> texts;
    bool reject_if_present = false;
};

class SubstrJudge final : public Judge {
  public:
    explicit SubstrJudge(const SubstrOptions& options) : options_(options) {}
    bool reads_files() const override { return false; }
    bool reads_stderr() const override { return true; }
    std::size_t judge(const App&, std::span<JudgedWorkunit> workunits) override {
        for (JudgedWorkunit& w : workunits)
            for (std::size_t i = 0; i < w.outputs.size(); ++i)
                if (w.asks_about(i)) w.outputs[i] = look(w.result(i));
        return workunits.size();
    }

  private:
    OutputCheck look(const Result& r) const {
        const auto wrong = std::ranges::find_if(options_.texts, [&](const std::string& text) {
            return (r.stderr_out.find(text) != std::string::npos) == options_.reject_if_present;
        });
        if (wrong == options_.texts.end()) return {};
        return {OutputCheck::Kind::kError, "",
                "'" + *wrong + "' is " + (options_.reject_if_present ? "" : "not ") + "in stderr_out"};
    }

    const SubstrOptions& options_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    SubstrOptions options;
    const ValidatorProgram program{
        .name = "sample_substr_validator",
        .summary = "validate results by what their app wrote on standard error",
        .description = "Every text must occur in the result's stderr_out. Output files are not looked at.",
        .options =
            [&](CommandLine& line, ValidatorOptions&) {
                line.repeatable("--stderr_string", options.texts, "text that must occur (required; more than one: all)",
                                "TEXT");
                line.flag("--reject_if_present", options.reject_if_present, "no text may occur");
            },
        .check = [&]() -> std::string { return options.texts.empty() ? "--stderr_string is required" : ""; },
        .judge = [&](const ProjectConfig&, const DaemonStart&) { return std::make_unique<SubstrJudge>(options); }};
    return validator_main(program, argc, argv);
}
