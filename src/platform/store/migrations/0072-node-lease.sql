-- Counts up while the node lives: one whose counter stands still is buried by the others.
alter table node add column beat bigint not null default 0;
-- Of the program that it runs.
alter table node add column version text not null default '';
