// sluice_options: prints docs/options.md from the option table, or checks a project's config.xml.
#include <cstdio>
#include <string>

#include "config/load.h"
#include "config/options_doc.h"
#include "sluice/base/error.h"
#include "sluice/daemon/command_line.h"

namespace {

/// What is unknown or wrong in PROJECT/config.xml and config_aux.xml; nothing is changed.
int check(const char* project) {
    try {
        const auto loaded = sluice::load_config(project);
        for (const auto& warning : loaded.warnings) std::printf("warning: %s\n", warning.c_str());
        std::printf("%s/config.xml can be used (%zu warnings)\n", project, loaded.warnings.size());
        return 0;
    } catch (const sluice::Error& e) {
        std::printf("error: %s\n", e.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    sluice::CommandLine line("sluice_options", "Checks a project's config.xml, or documents its options",
                             "Changes nothing. Unknown options, which all programs ignore, are warnings.");
    bool markdown = false;
    std::string project;
    line.option("--check", project, "Say what is unknown or wrong in PROJECT/config.xml and config_aux.xml.",
                "PROJECT");
    line.flag("--markdown", markdown, "Print the documentation of all options (docs/options.md).");
    line.section("EXIT STATUS", "0: config.xml can be used. 1: it can't.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (markdown == !project.empty()) return line.fail("--check PROJECT or --markdown is required");
    if (!markdown) return check(project.c_str());
    std::fputs(sluice::options_markdown().c_str(), stdout);
    return 0;
}
