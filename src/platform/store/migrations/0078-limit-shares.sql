-- Of a limit on what is done within a time, how much each node may do by itself: together never more than the limit.
create table limit_share (
  key text not null, -- what is limited, and whose
  node text not null,
  share bigint not null,
  used bigint not null, -- of it, within the time, as the node last said
  frees_at bigint, -- when the oldest of these is over; epoch ms
  window_ms bigint not null,
  expires_at bigint, -- of a node that has gone: until when it may count; null while the node lives
  primary key (key, node)
);
create index limit_share_node on limit_share (node);
