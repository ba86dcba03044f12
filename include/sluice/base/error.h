// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Failures of the environment. Expected outcomes (infeasible, lost race, not found) are return values, never
// exceptions. Caught in one place per program: the RPC boundary, a daemon's pass, main.
#include <stdexcept>
#include <string>

namespace sluice {

/// The base of all; what() is one line that says what is wrong and what to do.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A file that admins edit (config.xml, templates, plan_class_spec.xml …) is wrong.
class ConfigError : public Error {
  public:
    using Error::Error;
};

/// The shared segment is absent, of another layout, or not usable.
class ShmemError : public Error {
  public:
    using Error::Error;
};

/// A file or folder can't be read or written.
class FileError : public Error {
  public:
    using Error::Error;
};

/// The database refused or went away.
class DbError : public Error {
  public:
    enum class Kind {
        kCantConnect,  ///< no connection could be made (down, wrong password, no such database)
        kLost,         ///< the connection broke while in use; a reconnect may help
        kRetry,        ///< deadlock or lock wait timeout: the transaction was rolled back, repeat it
        kDuplicate,    ///< a unique key refused the row
        kOther,        ///< anything else: a defect, or a schema that does not fit
    };
    DbError(Kind kind, int code, const std::string& what) : Error(what), kind_(kind), code_(code) {}
    Kind kind() const { return kind_; }
    /// The server's or client library's error number.
    int code() const { return code_; }

  private:
    Kind kind_;
    int code_;
};

}  // namespace sluice
