// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/in_one_line.h"

namespace sluice {

std::string in_one_line(std::string_view text, std::size_t most) {
    const bool cut = text.size() > most;
    if (cut) {
        const auto begins_character = [&](std::size_t at) {
            return (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
        };
        while (most > 0 && !begins_character(most)) --most;
        text = text.substr(0, most);
    }
    std::string line(text);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    for (std::size_t at = 0; at < line.size(); ++at)
        if (is_high_control(line, at)) line[at] = line[at + 1] = ' ';
    if (cut) line += "...";
    return line;
}

}  // namespace sluice
