// SPDX-License-Identifier: LGPL-3.0-or-later
#include <charconv>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"

namespace sluice {

std::string fanout_folder(unsigned number) {
    char text[16];
    return {text, std::to_chars(text, text + sizeof text, number, 16).ptr};
}

static std::string fanout_folder(std::string_view name, int fanout) {
    const std::string digest = md5_hex(name);
    unsigned value = 0;
    std::from_chars(digest.data() + 1, digest.data() + 8, value, 16);
    return fanout_folder(value % static_cast<unsigned>(fanout));
}

fs::path fanout_path(const fs::path& root, std::string_view name, int fanout) {
    return fanout <= 0 ? root / name : root / fanout_folder(name, fanout) / name;
}

std::string fanout_url(std::string_view url, std::string_view name, int fanout) {
    std::string out(url);
    out += '/';
    if (fanout > 0) out += fanout_folder(name, fanout) + '/';
    return out.append(name);
}

bool is_valid_file_name(std::string_view name) {
    if (name.empty() || name.size() > 255 || name.front() == '/') return false;
    if (name.find("..") != std::string_view::npos) return false;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 32 || byte == 127) return false;
    }
    return true;
}

}  // namespace sluice
