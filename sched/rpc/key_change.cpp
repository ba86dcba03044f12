// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/rpc/key_change.h"

#include "sluice/base/text.h"

namespace sluice {

KeyAnswer answer_key(std::string_view client_key, std::string_view current_key, const std::vector<OldKey>& old_keys,
                     int client_version) {
    constexpr int kStripsKeys = 70000;
    KeyAnswer answer;
    const std::string_view held = trim(client_key), current = trim(current_key);
    if (held == current) return answer;
    if (held.empty()) {
        answer.code_sign_key = current;
        return answer;
    }
    for (const OldKey& old : old_keys) {
        if (trim(old.key) != held) continue;
        const std::string_view signature = trim(client_version < kStripsKeys ? old.signature : old.signature_stripped);
        if (signature.empty()) break;  // a key that we can't vouch for would be refused by the client
        answer.code_sign_key = current;
        answer.signature = signature;
        return answer;
    }
    answer.may_send_work = false;
    return answer;
}

}  // namespace sluice
