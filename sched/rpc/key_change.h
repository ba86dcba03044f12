// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The project's signing key, and what a client that holds another one gets (upstream behaviour).
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A former key and the project's signature over the current one with it.
struct OldKey {
    std::string key;                 ///< keys/old_key_N
    std::string signature;           ///< keys/signature_N, for clients before 7.0
    std::string signature_stripped;  ///< keys/signature_stripped_N: over the key without surrounding white space
};

struct KeyAnswer {
    bool may_send_work = true;             ///< false: tell the volunteer (messages::key_changed)
    std::string code_sign_key, signature;  ///< for the reply; empty = not sent
};
/// `client_key` as the client sent it; `old_keys` in the order of their numbers, up to the first gap.
KeyAnswer answer_key(std::string_view client_key, std::string_view current_key, const std::vector<OldKey>& old_keys,
                     int client_version);

}  // namespace sluice
