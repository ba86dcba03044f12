-- SPDX-License-Identifier: LGPL-3.0-or-later
-- Optional: file sets for locality scheduling. Load after schema.sql.

-- Files and sets of files, for locality scheduling.
create table file (
    id     integer      not null auto_increment,
    name   varchar(254) not null,
    md5sum varchar(32)  not null,
    size   double       not null default 0,
    primary key (id),
    unique (name)
) engine = InnoDB;

create table fileset (
    id   integer      not null auto_increment,
    name varchar(254) not null,
    primary key (id),
    unique (name)
) engine = InnoDB;

create table fileset_file (
    fileset_id integer not null,
    file_id    integer not null,
    foreign key (fileset_id) references fileset (id) on update cascade on delete cascade,
    foreign key (file_id) references file (id) on update cascade on delete cascade
) engine = InnoDB;

-- Flags through which the scheduler and the work generator of a file set talk.
create table sched_trigger (
    id                  integer not null auto_increment,
    fileset_id          integer not null,
    need_work           integer not null default 0,
    work_available      integer not null default 0,
    no_work_available   integer not null default 0,
    working_set_removal integer not null default 0,
    primary key (id),
    unique (fileset_id),
    key (need_work),
    key (work_available),
    key (no_work_available),
    key (working_set_removal),
    foreign key (fileset_id) references fileset (id) on update cascade on delete cascade
) engine = InnoDB;

alter table workunit add key (fileset_id);
