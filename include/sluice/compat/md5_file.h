// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#define MD5_LEN 64

/// 32 hexadecimal digits into `digits` (MD5_LEN bytes). `is_gzip`: the header of 10 bytes does not count;
/// ERR_BAD_FORMAT if there is none. ERR_FOPEN if it can't be opened, ERR_OPENDIR if its folder can't be.
extern int md5_file(const char* path, char* digits, double& bytes, bool is_gzip = false);
extern int md5_block(const unsigned char* data, int bytes, char* digits, const unsigned char* more = nullptr,
                     int more_bytes = 0);
extern std::string md5_string(const unsigned char* data, int bytes);
inline std::string md5_string(const std::string& data) {
    return md5_string(reinterpret_cast<const unsigned char*>(data.data()), static_cast<int>(data.size()));
}
