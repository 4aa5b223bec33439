-- Groups of destinations that are sent nothing for a while, because their hosts refuse what comes from one of our addresses.
create table provider_stop (
  id       text primary key, -- the group and the address
  until_at bigint not null,  -- then one message tries again
  step     bigint not null,  -- how often that was refused
  reason   text not null     -- the reply, without addresses in it
);
