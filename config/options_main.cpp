// sluice_options: prints docs/options.md from the option table, or checks a project's config.xml.
#include <cstdio>
#include <string_view>

#include "config/load.h"
#include "config/options_doc.h"
#include "sluice/base/error.h"

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
    const std::string_view argument = argc >= 2 ? argv[1] : "";
    if (argc == 2 && argument == "--markdown") {
        std::fputs(sluice::options_markdown().c_str(), stdout);
        return 0;
    }
    if (argc == 3 && argument == "--check") return check(argv[2]);
    const bool help = argument == "--help" || argument == "-h";
    std::fputs(
        "usage: sluice_options --markdown\n"
        "       sluice_options --check PROJECT\n"
        "Prints the documentation of all options of config.xml (docs/options.md), or says what is wrong in a project's.\n",
        help ? stdout : stderr);
    return help ? 0 : 1;
}
