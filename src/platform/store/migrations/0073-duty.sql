-- Work that one node does: which one. Null if that has died or stopped; the next that sees it takes over.
create table duty (
  name   text primary key,
  holder text
);
