// sluice_options: prints docs/options.md from the option table.
#include <cstdio>
#include <string_view>

#include "config/options_doc.h"

int main(int argc, char** argv) {
    const std::string_view argument = argc == 2 ? argv[1] : "";
    if (argument == "--markdown") {
        std::fputs(sluice::options_markdown().c_str(), stdout);
        return 0;
    }
    const bool help = argument == "--help" || argument == "-h";
    std::fputs(
        "usage: sluice_options --markdown\n"
        "Prints the documentation of all options of config.xml (docs/options.md).\n",
        help ? stdout : stderr);
    return help ? 0 : 1;
}
