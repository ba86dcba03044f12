// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What several parts of upstream share, by upstream's names.

#define COBBLESTONE_SCALE (200 / 86400e9)

// result.client_state
#define RESULT_NEW 0
#define RESULT_FILES_DOWNLOADING 1
#define RESULT_FILES_DOWNLOADED 2
#define RESULT_COMPUTE_ERROR 3
#define RESULT_FILES_UPLOADING 4
#define RESULT_FILES_UPLOADED 5
#define RESULT_ABORTED 6
#define RESULT_UPLOAD_FAILED 7
