// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/mail.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr double kLimit = 30;                 ///< s for sendmail, which only takes the mail over
constexpr std::size_t kLongestSubject = 150;  ///< bytes
constexpr std::size_t kLongestAddress = 254;

std::string ascii_line(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size() && line.size() < kLongestSubject;) {
        const std::size_t length = std::max<std::size_t>(1, utf8_sequence(text.substr(at)));
        const auto c = static_cast<unsigned char>(text[at]);
        line += length > 1 || c >= 0x7f ? '?' : c < 0x20 ? ' ' : static_cast<char>(c);
        at += length;
    }
    return line;
}

}  // namespace

bool is_mail_address(std::string_view text) {
    constexpr std::string_view kAlso = ".!#$%&'*+-/=?^_`{|}~@";
    const std::size_t at = text.find('@');
    if (at == 0 || at == text.npos || at + 1 == text.size() || text.find('@', at + 1) != text.npos) return false;
    if (text.size() > kLongestAddress || text.front() == '-') return false;
    return std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kAlso.find(c) != kAlso.npos;
    });
}

std::vector<std::string> mail_addresses(std::string_view list, std::string_view option) {
    std::string words(list);
    std::ranges::replace_if(
        words, [](char c) { return c == ',' || c == '\t' || c == '\n'; }, ' ');
    std::vector<std::string> addresses;
    for (const std::string_view word : split(words, ' ')) {
        if (word.empty()) continue;
        if (!is_mail_address(word))
            throw ConfigError(fmt::format("<{}>: '{}' is no e-mail address: give addresses with commas between them",
                                          option, in_one_line(word)));
        addresses.emplace_back(word);
    }
    return addresses;
}

std::string mail_text(const Mail& mail) {
    std::string to;
    for (const std::string& address : mail.to) to += (to.empty() ? "" : ", ") + address;
    return fmt::format(
        "To: {}\nSubject: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; "
        "charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n{}",
        to, ascii_line(mail.subject), mail.text);
}

std::string send_mail(const std::string& program, const Mail& mail) {
    // Programs that send mail run in different folders.
    if (!program.starts_with('/')) return fmt::format("<sendmail> in config.xml is not an absolute path: {}", program);
    const std::string text = mail_text(mail);
    const int status = run_script({program, "-t", "-i"}, kLimit, &text);
    if (status == 0) return "";
    if (status == 127) return fmt::format("{} can't be started: <sendmail> in config.xml names the program", program);
    if (status == kScriptTimedOut) return fmt::format("{} took longer than {:.0f} s", program, kLimit);
    return fmt::format("{} ended with status {}", program, status);
}

}  // namespace sluice
