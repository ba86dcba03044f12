// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/clone.h"

#include <algorithm>
#include <set>

#include "sluice/base/text.h"

namespace sluice {
namespace {

/// The next <tag>TEXT</tag> from `at` on; false: there is none.
struct TextElement {
    std::size_t begin = 0, end = 0;  ///< of TEXT
};
bool find_text_element(std::string_view xml, const std::string& tag, std::size_t at, TextElement& found) {
    const std::size_t start = xml.find("<" + tag + ">", at);
    if (start == xml.npos) return false;
    found.begin = start + tag.size() + 2;
    found.end = xml.find("</" + tag + ">", found.begin);
    return found.end != xml.npos;
}

std::set<std::string, std::less<>> renamed_files(std::string_view xml) {
    std::set<std::string, std::less<>> names;
    TextElement info, name;
    for (std::size_t at = 0; find_text_element(xml, "file_info", at, info); at = info.end) {
        const std::string_view block = xml.substr(info.begin, info.end - info.begin);
        if (!find_text_element(block, "name", 0, name)) continue;
        if (at == 0 || block.find("<no_delete") == block.npos)
            names.emplace(trim(block.substr(name.begin, name.end - name.begin)));
    }
    return names;
}

/// Adds `suffix` to each <tag>NAME</tag> of those names.
std::string with_suffix(std::string_view xml, const std::string& tag, const std::set<std::string, std::less<>>& names,
                        const std::string& suffix) {
    std::string out;
    std::size_t done = 0;
    TextElement element;
    for (std::size_t at = 0; find_text_element(xml, tag, at, element); at = element.end) {
        const std::string_view name = trim(xml.substr(element.begin, element.end - element.begin));
        if (!names.contains(name)) continue;
        out.append(xml.substr(done, element.begin - done)).append(name).append(suffix);
        done = element.end;
    }
    return out.append(xml.substr(done));
}

}  // namespace

Workunit clone_of(const Workunit& pattern, const CloneWords& words) {
    Workunit w = pattern;
    const auto names = renamed_files(pattern.xml_doc);
    w.xml_doc = with_suffix(with_suffix(pattern.xml_doc, "name", names, words.file_suffix), "file_name", names,
                            words.file_suffix);
    w.id = 0, w.name = words.name, w.create_time = w.transition_time = words.now;
    w.need_validate = false, w.canonical_resultid = 0, w.error_mask = 0, w.hr_class = 0, w.app_version_id = 0;
    w.file_delete_state = FileDeleteState::kInit, w.assimilate_state = AssimilateState::kInit;
    if (!words.keep_credit) w.canonical_credit = 0;
    return w;
}

}  // namespace sluice
