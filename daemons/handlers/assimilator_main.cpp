// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_assimilator: hands finished workunits to a project's own program, which stores what they gave. That program,
// linked with the installed library, starts it.
#include <chrono>
#include <filesystem>

#include "config/db_settings.h"
#include "daemons/assimilator/program.h"
#include "daemons/handlers/code_options.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// What took longer is marked before more is handled.
constexpr auto kAtMost = std::chrono::milliseconds(500);
/// Workunits whose rows are read together.
constexpr std::size_t kTogether = 32;

class OwnProcessHandler final : public AssimilateHandler {
  public:
    OwnProcessHandler(const CodeOptions& code, WireHello hello, const DbSettings& settings)
        : db_(settings), store_(make_assimilate_store(db_)), process_(code.start(), std::move(hello)) {
        process_.start();  // what can't begin is said at once
    }
    std::string name() const override { return std::filesystem::path(process_.program()).filename().string(); }

    std::vector<std::string> handle(std::span<const FinishedWorkunit> workunits) override {
        const auto begin = std::chrono::steady_clock::now();
        workunits = workunits.first(std::min(workunits.size(), kTogether));
        std::vector<Id> ids;
        for (const FinishedWorkunit& w : workunits) ids.push_back(w.wu.id);
        std::vector<WorkunitWithResults> rows = store_->whole(ids);
        std::vector<std::string> said;
        for (const FinishedWorkunit& w : workunits) {
            if (stop_requested() || (!said.empty() && std::chrono::steady_clock::now() - begin > kAtMost)) break;
            const auto row = std::ranges::find(rows, w.wu.id, [](const auto& r) { return r.wu.id; });
            std::string why = row == rows.end() ? "its row is gone" : handle_one(w, *row);
            if (stop_requested() && !why.empty()) break;  // it was ended for that
            said.push_back(std::move(why));
        }
        return said;
    }

  private:
    std::string handle_one(const FinishedWorkunit& w, WorkunitWithResults& rows) {
        AssimilateQuestion question{std::move(rows.wu), std::move(rows.results), -1, w.files};
        question.wu.error_mask = w.wu.error_mask;
        for (std::size_t i = 0; w.canonical && i < question.results.size(); ++i)
            if (question.results[i].id == w.canonical->id) question.canonical = static_cast<int>(i);
        if (question.canonical < 0) question.wu.canonical_resultid = 0;
        try {
            Assimilated answer;
            from_wire(process_.ask(to_wire(question)), answer);
            if (answer.kind == Assimilated::Kind::kDone) return "";
            return answer.why.empty() ? "failed" : in_one_line(answer.why, 1000);
        } catch (const HandlerFailed& e) {
            return e.what();
        } catch (const WireError& e) {
            return std::string("gave ") + e.what();
        }
    }

    Database db_;
    std::unique_ptr<AssimilateStore> store_;
    HandlerProcess process_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    CodeOptions code;
    const AssimilatorProgram program{.name = "sluice_assimilator",
                                     .summary = "hand finished workunits to a project's own program",
                                     .description = CodeOptions::description("becomes of a finished workunit"),
                                     .options = [&](CommandLine& line) { code.define(line); },
                                     .check = [&] { return code.check(); },
                                     .handler = [&](const AssimilatorOptions& options, const ProjectConfig& config,
                                                    const DaemonStart& start) -> std::unique_ptr<AssimilateHandler> {
                                         return std::make_unique<OwnProcessHandler>(
                                             code, hello_of(config, start, options.app_name), db_settings(config));
                                     }};
    return assimilator_main(program, argc, argv);
}
