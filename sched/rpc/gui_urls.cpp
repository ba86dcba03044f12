// SPDX-License-Identifier: LGPL-3.0-or-later
// The links that clients show for a project: gui_urls.xml with the account's data filled in.
#include <array>
#include <utility>

#include "sched/rpc/reply.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// <ifteam>…</ifteam>: the tags go, what they enclose goes too for users without team. It is read once; an <ifteam>
/// that does not end is left alone.
std::string resolve_ifteam(std::string_view text, bool has_team) {
    constexpr std::string_view kOpen = "<ifteam>", kClose = "</ifteam>";
    std::string out;
    for (;;) {
        const auto open = text.find(kOpen);
        const auto close = open == std::string_view::npos ? open : text.find(kClose, open);
        if (close == std::string_view::npos) break;
        out += text.substr(0, open);
        if (has_team) out += text.substr(open + kOpen.size(), close - open - kOpen.size());
        text.remove_prefix(close + kClose.size());
    }
    return out.append(text);
}

}  // namespace

std::string expand_gui_urls(const std::string& text, const SchedulerReply& reply) {
    const User& user = reply.user;
    const std::string userid = std::to_string(user.id);
    const std::string weak_auth = userid + "_" + md5_hex(user.authenticator + user.passwd_hash);
    const std::string rss_auth = userid + "_" + md5_hex(user.authenticator + user.passwd_hash + "notify_rss");
    const std::array<std::pair<std::string_view, std::string>, 10> values{{
        {"<userid/>", userid},
        {"<user_name/>", xml_escape(user.name, true)},
        {"<hostid/>", std::to_string(reply.host.id)},
        {"<teamid/>", std::to_string(user.teamid)},
        {"<team_name/>", xml_escape(reply.team.name, true)},
        {"<authenticator/>", user.authenticator},
        {"<weak_auth/>", weak_auth},
        {"<rss_auth/>", rss_auth},
        {"<project_name/>", reply.project_name},
        {"<master_url/>", reply.master_url},
    }};
    // All at once, so that a user called "<hostid/>" stays who he is.
    const std::string source = resolve_ifteam(text, reply.team.id != 0);
    std::string out;
    std::string_view rest = source;
    for (auto at = rest.find('<'); at != std::string_view::npos; at = rest.find('<')) {
        out += rest.substr(0, at);
        rest.remove_prefix(at);
        std::size_t used = 1;
        std::string_view replacement = rest.substr(0, 1);
        for (const auto& [placeholder, value] : values) {
            if (!rest.starts_with(placeholder)) continue;
            used = placeholder.size();
            replacement = value;
            break;
        }
        out += replacement;
        rest.remove_prefix(used);
    }
    return out.append(rest);
}

}  // namespace sluice
