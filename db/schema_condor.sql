-- SPDX-License-Identifier: LGPL-3.0-or-later
-- Optional: staged files of batches that come from other batch systems. Load after schema.sql.

-- Which batches use which staged file.
create table batch_file_assoc (
    job_file_id integer not null,
    batch_id    integer not null
) engine = InnoDB;
