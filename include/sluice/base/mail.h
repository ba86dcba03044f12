// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Mails to people, handed to a program that is called as sendmail is.
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What programs of ours may write to: one @, letters, digits and ".!#$%&'*+-/=?^_`{|}~"; no dash at the begin.
bool is_mail_address(std::string_view text);
/// Those of a list, with commas or blanks between them. Throws ConfigError, which names `option` and the wrong word.
std::vector<std::string> mail_addresses(std::string_view list, std::string_view option);

struct Mail {
    std::vector<std::string> to;  ///< is_mail_address() holds for each
    std::string subject, text;    ///< subject: any text; what is no ASCII becomes '?'. text: UTF-8
};
/// With its head. Nothing in the subject can make a line of its own.
std::string mail_text(const Mail& mail);
/// Gives it to `program` -t -i, and waits, 30 s at most. "" or what went wrong.
std::string send_mail(const std::string& program, const Mail& mail);

}  // namespace sluice
