// SPDX-License-Identifier: LGPL-3.0-or-later
// parse_config: prints a value of config.xml, for scripts. Upstream's program of that name.
#include <fmt/core.h>

#include "config/config_element.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestConfig = std::size_t{4} << 20;

/// The last <name> within <config>: a later one goes before. An empty element is there, and its text is "".
std::optional<std::string> value_in(const std::string& text, const std::string& file, const std::string& name) {
    std::optional<std::string> value;
    XmlReader reader(text);
    for (auto token = reader.next(); token != XmlReader::Kind::kEof; token = reader.next()) {
        if (token != XmlReader::Kind::kStart || reader.name() != "config" || reader.empty_element()) continue;
        while (reader.next_child("config")) {
            const ConfigElement element = read_element(reader, text, file);
            if (element.name == name) value = element.self_closing ? "1" : element.text;
        }
    }
    return value;
}

int print_value(const std::string& name) {
    const fs::path project = find_project_dir();
    std::optional<std::string> value;
    for (const char* file : {"config.xml", "config_aux.xml"}) {
        const fs::path path = project / file;
        if (const auto text = read_file(path, kLongestConfig))
            if (auto found = value_in(*text, path.string(), name)) value = std::move(found);
    }
    if (!value) throw ConfigError("config.xml has no <" + in_one_line(name) + ">; docs/options.md lists defaults");
    fmt::print("{}\n", *value);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::vector<std::string> names;
    CommandLine line(
        "parse_config", "print a value of config.xml",
        "Prints the text of <NAME> within <config>, also of config_aux.xml, which goes before. Of <NAME/> it "
        "prints 1. Whether the value is allowed, sluice_options --check says.");
    line.section("EXAMPLES", "du -sh $(bin/parse_config upload_dir)");
    line.section("EXIT STATUS", "0: the value is printed. 1: it is not there, or config.xml can't be read.");
    line.positional("NAME", names, "name of the element, such as master_url");
    return tool_main({"parse_config"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        return names.size() == 1 ? print_value(names[0]) : line.fail("give the name of one element");
    });
}
