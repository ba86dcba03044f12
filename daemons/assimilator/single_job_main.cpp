// SPDX-License-Identifier: LGPL-3.0-or-later
// single_job_assimilator: output files of jobs that upstream's boinc_submit made go back into the folder from which
// they were submitted. Upstream's program of that name, same options and files.
#include <fmt/core.h>

#include <array>

#include "daemons/assimilator/keep_file.h"
#include "daemons/assimilator/one_by_one.h"
#include "daemons/assimilator/program.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

class SingleJobHandler final : public OneByOneHandler {
  public:
    SingleJobHandler(fs::path project, const ProjectConfig& config, const Clock& clock)
        : OneByOneHandler(clock), project_(std::move(project)), config_(config) {}
    std::string name() const override { return "single_job_assimilator"; }

  private:
    std::optional<std::string> store(const FinishedWorkunit& w) override {
        const std::string id = std::to_string(w.wu.id);
        const fs::path note = fanout_path(config_.upload_dir, "sj_" + id, config_.uldl_dir_fanout);
        const std::string text = read_file(note, 4096).value_or("");
        const auto end = text.find("</job_dir>");
        if (!text.starts_with("<job_dir>") || end == std::string::npos) {
            log_critical("[WU#{} {}] {} does not name the job's folder: nothing is copied", w.wu.id, w.wu.name,
                         note.string());
        } else {
            fill(fs::path(text.substr(9, end - 9)), w);
        }
        // Last, so that a call after a failure finds all of it.
        for (const fs::path& done : std::array<fs::path, 3>{project_ / ("templates/sj_wu_template_" + id),
                                                            project_ / ("templates/sj_result_template_" + id), note})
            ::unlink(done.c_str());
        return "";
    }
    static void fill(const fs::path& folder, const FinishedWorkunit& w) {
        std::string summary;
        if (w.canonical) {
            summary = fmt::format("Job was completed by host {}.\nCPU time: {:f} seconds\n", w.canonical->hostid,
                                  w.canonical->cpu_time);
            for (const OutputFile& f : w.files)
                if (!keep_file(f.path, folder / flat_name(f.logical)))
                    summary += fmt::format("Output file {} not present.\n", f.logical);
        } else {
            summary = fmt::format("The job was not successfully completed.\nError: 0x{:x}\n", w.wu.error_mask);
        }
        write_file_atomically(folder / ("job_summary_" + std::to_string(w.wu.id)), summary);
    }

    fs::path project_;
    const ProjectConfig& config_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    const AssimilatorProgram program{
        .name = "single_job_assimilator",
        .summary = "bring the output files of single jobs back to who submitted them",
        .description =
            "The upload folder's file sj_WUID names the job's folder. It gets the output files under their logical "
            "names, and job_summary_WUID.",
        .handler = [](const AssimilatorOptions&, const ProjectConfig& config,
                      const DaemonStart& start) -> std::unique_ptr<AssimilateHandler> {
            return std::make_unique<SingleJobHandler>(start.settings.project, config, start.env.clock);
        }};
    return assimilator_main(program, argc, argv);
}
