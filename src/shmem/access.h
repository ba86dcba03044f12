#pragma once
// Who may use the segment: its owner, and the accounts that the web server may run under. See
// docs/shared_memory.md, "Who may attach".
#include <string>
#include <vector>

namespace sluice::shm {

enum class Access {
    kOwnerOnly,  ///< nobody else needed it, or none of the accounts exists here
    kAcl,        ///< an access control list names the accounts; others have no access
    kGroup,      ///< by group, mode 0660
    kEverybody   ///< mode 0666: neither a list nor a shared group was possible
};

/// Opens the segment behind `fd` to `users` (account names; unknown ones and the owner are passed over).
Access grant_access(int fd, int mode, const std::vector<std::string>& users);

}  // namespace sluice::shm
