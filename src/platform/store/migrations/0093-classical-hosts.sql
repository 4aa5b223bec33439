-- Hosts that drop large TLS hellos, and are offered classical groups only.
create table classical_host (
  id       text primary key, -- address and port
  found_at bigint not null
);
