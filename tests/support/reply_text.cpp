// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/reply_text.h"

#include <fmt/format.h>

namespace sluice::test {

int ReplyText::count(const std::string& part) const {
    int n = 0;
    for (std::size_t at = run.out.find(part); at != std::string::npos; at = run.out.find(part, at + part.size())) ++n;
    return n;
}

namespace {
std::vector<std::string> between(const std::string& text, const std::string& open, const std::string& close) {
    std::vector<std::string> found;
    for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
        const std::size_t start = at + open.size(), end = text.find(close, start);
        if (end == std::string::npos) break;
        found.push_back(text.substr(start, end - start));
    }
    return found;
}
}  // namespace

std::string ReplyText::value(const std::string& tag) const {
    const auto found = between(run.out, "<" + tag + ">", "</" + tag + ">");
    return found.empty() ? "" : found.front();
}

std::vector<std::string> ReplyText::result_names() const {
    std::vector<std::string> names;
    for (const std::string& result : between(run.out, "\n<result>", "</result>"))
        for (const std::string& name : between(result, "\n<name>", "</name>")) names.push_back(name);
    return names;
}

std::vector<std::string> ReplyText::messages() const {
    std::vector<std::string> texts;
    for (const std::string& m : between(run.out, "<message priority=", "</message>"))
        texts.push_back(m.substr(m.find('>') + 1));
    return texts;
}

std::string ReplyText::malformed() const {
    const std::string& t = run.out;
    if (run.status != 0) return fmt::format("exit status {} ({})", run.status, run.err);
    if (!t.starts_with("Content-type: text/xml\n\n<scheduler_reply>") &&
        !t.starts_with("Content-type: text/plain\n\n<scheduler_reply>"))
        return "does not start with header and root: " + t.substr(0, 100);
    if (!t.ends_with("</scheduler_reply>\n")) return "does not end with the root";
    if (count("<scheduler_reply>") != 1 || count("</scheduler_reply>") != 1) return "more than one root";
    return "";
}

}  // namespace sluice::test
