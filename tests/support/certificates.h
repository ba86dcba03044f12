// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// An authority and a certificate of its for a database server at 127.0.0.1, made with openssl(1).
class Certificates {
  public:
    Certificates() {
        dir_.write("ext", "subjectAltName=IP:127.0.0.1\n");
        for (const char* name : {"ca", "other"})
            openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", std::string("/CN=test authority ") + name, "-keyout", file(std::string(name) + ".key"),
                     "-out", file(std::string(name) + ".pem")});
        openssl({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 "/CN=127.0.0.1", "-keyout", file("server.key"), "-out", file("server.csr")});
        openssl({"x509", "-req", "-in", file("server.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key"),
                 "-set_serial", "1", "-days", "2", "-extfile", file("ext"), "-out", file("server.pem")});
        if (accounts_apart()) std::filesystem::permissions(dir_.path(), std::filesystem::perms(0711));
        give(file("server.key"), Role::kDatabase);
    }
    std::string file(const std::string& name) const { return (dir_ / name).string(); }

  private:
    static void openssl(std::vector<std::string> args) {
        args.insert(args.begin(), "openssl");
        const RunResult result = run(args);
        if (result.status != 0) throw std::runtime_error(result.err);
    }
    TempDir dir_;
};

}  // namespace sluice::test
