// SPDX-License-Identifier: LGPL-3.0-or-later
// The application of the tests with real clients. Its command line is a list of words that it obeys in order:
//   wait FILE       until FILE exists
//   trickle TEXT    sends <text>TEXT</text> upward, variety "steered"
//   hear FILE       waits for a trickle message from the server and appends its text to FILE
//   fail STATUS     ends with that exit status
//   add MEGABYTES   the output has so many more, no two alike
//   count FILES     counts until FILES.go exists, with checkpoints; a line with what it goes on from at each start in
//                   FILES.starts, what the last checkpoint holds in FILES.saved
// In the end it copies its input to its output and finishes.
#include <boinc/boinc_api.h>

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string resolve(const char* logical_name) {
    char path[512];
    if (boinc_resolve_filename(logical_name, path, sizeof path) != 0) boinc_finish(2);
    return path;
}

void pause_briefly() { ::usleep(100000); }

void wait_for(const std::string& file) {
    while (::access(file.c_str(), F_OK) != 0) pause_briefly();
}

void send_trickle(const std::string& text) {
    std::string variety = "steered", message = "<text>" + text + "</text>\n";
    if (boinc_send_trickle_up(variety.data(), message.data()) != 0) boinc_finish(3);
}

void hear(const std::string& file) {
    char name[1024];
    while (boinc_receive_trickle_down(name, sizeof name) == 0) pause_briefly();
    std::ifstream in(name);
    std::ofstream(file, std::ios::app) << in.rdbuf();
}

void count(const std::string& files) {
    long n = 0;
    std::ifstream("checkpoint") >> n;
    std::ofstream(files + ".starts", std::ios::app) << n << std::endl;
    for (; ::access((files + ".go").c_str(), F_OK) != 0; ++n) {
        pause_briefly();
        if (!boinc_time_to_checkpoint()) continue;
        // A client knows a checkpoint by the processor time at it; one that it does not know of stays in memory.
        for (const std::clock_t until = std::clock() + CLOCKS_PER_SEC / 50; std::clock() < until;) {
        }
        std::ofstream("checkpoint") << n << std::endl;
        std::ofstream(files + ".saved") << n << std::endl;
        boinc_checkpoint_completed();
    }
}

void add_megabytes(std::ostream& out, long megabytes) {
    std::string block(1 << 20, ' ');
    unsigned x = 1;
    for (; megabytes > 0; --megabytes) {
        for (char& c : block) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
        out << block;
    }
}

}  // namespace

int main(int argc, char** argv) {
    boinc_init();
    const std::vector<std::string> words(argv + 1, argv + argc);
    long megabytes = 0;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        std::cerr << "obeying " << words[i] << std::endl;
        if (words[i] == "wait") wait_for(words[i + 1]);
        if (words[i] == "trickle") send_trickle(words[i + 1]);
        if (words[i] == "hear") hear(words[i + 1]);
        if (words[i] == "count") count(words[i + 1]);
        if (words[i] == "add") megabytes = std::atol(words[i + 1].c_str());
        if (words[i] == "fail") boinc_finish(std::atoi(words[i + 1].c_str()));
    }
    {
        std::ofstream out(resolve("out"), std::ios::binary);
        out << std::ifstream(resolve("in"), std::ios::binary).rdbuf();
        add_megabytes(out, megabytes);
    }
    std::cerr << "copied" << std::endl;
    boinc_finish(0);
}
