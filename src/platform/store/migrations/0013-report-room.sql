-- The oldest of a box make room for what comes, and what a box costs is still read from the index alone.
drop index incoming_content_cost;
create index incoming_content_age on incoming_content (box, id, cost);
-- Those of each purpose are taken by themselves.
drop index incoming_report_waiting;
create index incoming_report_waiting on incoming_report (purpose, id) where state = 'received';
