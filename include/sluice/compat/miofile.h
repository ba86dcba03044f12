// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Text to be read, from a string or a file.
#include <cstdio>
#include <string>

struct MIOFILE {
    const char* buf = nullptr;
    FILE* f = nullptr;

    void init_file(FILE* file) { f = file; }
    /// `text` stays as it is, and outlives this.
    void init_buf_read(const char* text) { buf = text; }
    /// A character, or EOF (or 0 at the end of a string).
    int _getc();
    int _ungetc(int c);
    char* fgets(char* line, int size);
};
