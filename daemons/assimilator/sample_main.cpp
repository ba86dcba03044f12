// SPDX-License-Identifier: LGPL-3.0-or-later
// sample_assimilator: output files come into sample_results of the project. The program of that name that upstream had
// for many years, same files.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "daemons/assimilator/keep_file.h"
#include "daemons/assimilator/one_by_one.h"
#include "daemons/assimilator/program.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

class SampleHandler final : public OneByOneHandler {
  public:
    SampleHandler(fs::path folder, const Clock& clock) : OneByOneHandler(clock), folder_(std::move(folder)) {}
    std::string name() const override { return "sample_assimilator"; }

  private:
    std::optional<std::string> store(const FinishedWorkunit& w) override {
        make_result_folder(folder_);
        const std::string stem = (folder_ / flat_name(w.wu.name)).string();
        if (!w.canonical) {
            note_error(fmt::format("{}: 0x{:x}\n", w.wu.name, w.wu.error_mask));
            return "";
        }
        bool any = false;
        for (std::size_t i = 0; i < w.files.size(); ++i)
            any |= keep_file(w.files[i].path, w.files.size() == 1 ? stem : stem + "_" + std::to_string(i));
        if (!any) write_file_atomically(stem + "_no_output_files", "");
        return "";
    }
    /// After a kill some come again, which have their line: it is among the last ones.
    void note_error(const std::string& line) const {
        constexpr off_t kTail = 64 << 10;
        const fs::path file = folder_ / "errors";
        const OwnedFd out(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0664));
        const off_t size = out.get() < 0 ? 0 : ::lseek(out.get(), 0, SEEK_END);
        std::string tail(static_cast<std::size_t>(std::min(size, kTail)), '\0');
        const bool read = ::pread(out.get(), tail.data(), tail.size(), size - std::ssize(tail)) == std::ssize(tail);
        if (read && ("\n" + tail).find("\n" + line) != std::string::npos) return;
        if (out.get() < 0 || !write_all(out.get(), line))
            throw FileError("Can't write " + file.string() + ": " + file_problem(errno, file));
    }

    fs::path folder_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const AssimilatorProgram program{
        .name = "sample_assimilator",
        .summary = "keep the output files of all workunits in one folder",
        .description =
            "Files: sample_results/WORKUNIT, or WORKUNIT_0, WORKUNIT_1 … if there are several; "
            "WORKUNIT_no_output_files; a line for each job that failed in sample_results/errors.",
        .handler = [](const AssimilatorOptions&, const ProjectConfig&,
                      const DaemonStart& start) -> std::unique_ptr<AssimilateHandler> {
            return std::make_unique<SampleHandler>(start.settings.project / "sample_results", start.env.clock);
        }};
    return assimilator_main(program, argc, argv);
}
