-- What a node may yet take in of an owner's quota by itself; mail_usage counts it already.
create table quota_share (
  owner_id text not null, -- acc_… or dom_…
  node text not null,
  day bigint not null, -- in which it was counted, as in mail_usage
  month bigint not null,
  recipients bigint not null, -- still to be used
  day_limit bigint not null, -- the quota that it is a share of
  month_limit bigint not null,
  primary key (owner_id, node)
);
