// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_collect_assimilator: output files of a batch's jobs come into one folder, results/BATCH. Upstream's program of
// that name, same options and files.
#include <fmt/core.h>

#include "daemons/assimilator/keep_file.h"
#include "daemons/assimilator/one_by_one.h"
#include "daemons/assimilator/program.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

class BatchCollector final : public OneByOneHandler {
  public:
    BatchCollector(fs::path folder, const Clock& clock) : OneByOneHandler(clock), folder_(std::move(folder)) {}
    std::string name() const override { return "batch_collect_assimilator"; }

  private:
    std::optional<std::string> store(const FinishedWorkunit& w) override {
        const fs::path batch = folder_ / std::to_string(w.wu.batch);
        make_result_folder(folder_);
        make_result_folder(batch);
        const fs::path stem = batch / flat_name(w.wu.name);
        if (!w.canonical) {
            write_file_atomically(stem.string() + "_error", fmt::format("0x{:x}\n", w.wu.error_mask));
            return "";
        }
        bool any = false;
        for (const OutputFile& f : w.files) any |= keep_file(f.path, stem.string() + "__file_" + flat_name(f.logical));
        if (!any) write_file_atomically(stem.string() + "_no_output_files", "");
        return "";
    }

    fs::path folder_;
};

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::string folder;
    const AssimilatorProgram program{
        .name = "batch_collect_assimilator",
        .summary = "keep the output files of each batch in one folder",
        .description =
            "Files: OUTDIR/BATCH/WORKUNIT__file_NAME, where NAME is a logical name; WORKUNIT_error with the error mask "
            "for a job that failed; WORKUNIT_no_output_files. They are hard links to the uploaded files where that is "
            "possible, else copies. file_deleter removes the uploaded ones when nobody needs them.",
        .options =
            [&](CommandLine& line) {
                line.option("--outdir", folder, "folder of the batches' folders; default: results of the project",
                            "DIR");
            },
        .handler = [&](const AssimilatorOptions&, const ProjectConfig&,
                       const DaemonStart& start) -> std::unique_ptr<AssimilateHandler> {
            return std::make_unique<BatchCollector>(
                folder.empty() ? start.settings.project / "results" : fs::path(folder), start.env.clock);
        }};
    return assimilator_main(program, argc, argv);
}
