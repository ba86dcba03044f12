// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice::test {

/// Whose a test program is that root started.
enum class GoesOnAs {
    kOneAccount,  ///< sluice-test runs all of it (nobody, where config/install-packages did not make that account)
    kAccounts,    ///< sluice-test as well, and what it starts has accounts of its own: tests/support/accounts.h
    kRoot
};

/// Started by root, a test program goes on as another account: what it starts has no rights on the machine. With
/// kOneAccount it starts anew for that, so that nothing of root's is left in it (a process that changed its account
/// can't be looked into by its own children). Comes back where nothing is to be changed; where an account can't read
/// the build it says so, and goes on with fewer accounts, or as root. Call it first.
void leave_root(char** argv, GoesOnAs whose = GoesOnAs::kOneAccount);

}  // namespace sluice::test
