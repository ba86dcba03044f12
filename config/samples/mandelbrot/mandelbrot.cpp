// SPDX-License-Identifier: LGPL-3.0-or-later
// The example application: renders one tile of a Mandelbrot picture on a volunteer's computer.
//
// Uses the BOINC API as any project's application does: logical file names "in" and "out", fraction done, checkpoints
// (the number of finished rows; the rows themselves are already in the output file). Exit status 1 with a line on
// stderr if the input is no tile. MANDELBROT_GFLOPS in the client's environment makes the device no faster than that:
// the demo shows hosts of several speeds on one machine.
#include <boinc/boinc_api.h>
#include <boinc/filesys.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>

#include "tile.h"

namespace {

constexpr char kCheckpoint[] = "checkpoint";

std::string resolve(const char* logical_name) {
    char path[512];
    if (boinc_resolve_filename(logical_name, path, sizeof path) != 0)
        throw std::runtime_error(std::string("can't resolve the file name ") + logical_name);
    return path;
}

/// Rows that an earlier run of this job finished and that are wholly in the output file.
int rows_done(const mandelbrot::Tile& tile, const std::string& out_path) {
    std::ifstream in(kCheckpoint);
    int rows = 0;
    if (!(in >> rows) || rows < 0 || rows > tile.height) return 0;
    double bytes = 0;
    const auto wanted = static_cast<double>(mandelbrot::pgm_header(tile).size()) + 2.0 * tile.width * rows;
    return boinc_file_exists(out_path.c_str()) && file_size(out_path.c_str(), bytes) == 0 && bytes >= wanted ? rows : 0;
}

void checkpoint(int rows) {
    {
        std::ofstream out("checkpoint.new", std::ios::trunc);
        out << rows << '\n';
    }
    if (boinc_rename("checkpoint.new", kCheckpoint) != 0) throw std::runtime_error("can't write the checkpoint");
}

/// Seconds that a row takes on a device of this speed, at least.
std::chrono::duration<double> least_time_of_row(const mandelbrot::Tile& tile) {
    const char* given = std::getenv("MANDELBROT_GFLOPS");
    const double speed = given != nullptr ? std::atof(given) * 1e9 : 0;
    return std::chrono::duration<double>(speed > 0 ? mandelbrot::flops_of(tile) / tile.height / speed : 0);
}

void render(const mandelbrot::Tile& tile, const std::string& out_path) {
    const auto least_time = least_time_of_row(tile);
    const std::string header = mandelbrot::pgm_header(tile);
    const int first = rows_done(tile, out_path);
    FILE* out = boinc_fopen(out_path.c_str(), first > 0 ? "r+b" : "wb");
    if (out == nullptr) throw std::runtime_error("can't open the output file " + out_path);
    if (first == 0) {
        std::fwrite(header.data(), 1, header.size(), out);
    } else {
        std::fseek(out, static_cast<long>(header.size()) + 2L * tile.width * first, SEEK_SET);
        std::cerr << "resumed at row " << first << " of " << tile.height << '\n';
    }
    for (int row = first; row < tile.height; ++row) {
        const auto began = std::chrono::steady_clock::now();
        const std::string bytes = mandelbrot::pgm_row(mandelbrot::render_row(tile, row));
        if (std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size())
            throw std::runtime_error("can't write the output file: is the disk full?");
        std::this_thread::sleep_until(began + std::chrono::duration_cast<std::chrono::nanoseconds>(least_time));
        boinc_fraction_done(static_cast<double>(row + 1) / tile.height);
        if (boinc_time_to_checkpoint()) {
            std::fflush(out);
            fsync(fileno(out));
            checkpoint(row + 1);
            boinc_checkpoint_completed();
        }
    }
    if (std::fclose(out) != 0) throw std::runtime_error("can't write the output file: is the disk full?");
}

}  // namespace

int main() {
    boinc_init();
    try {
        std::ifstream in(resolve("in"));
        if (!in) throw std::runtime_error("can't open the input file");
        const mandelbrot::Tile tile = mandelbrot::read_tile(in);
        render(tile, resolve("out"));
        std::cerr << "tile " << tile.x << "," << tile.y << " " << tile.width << "x" << tile.height << " done\n";
    } catch (const std::exception& e) {
        std::cerr << "mandelbrot: " << e.what() << '\n';
        boinc_finish(1);
    }
    boinc_finish(0);
}
