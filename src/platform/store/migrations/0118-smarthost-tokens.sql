-- Logins to the smarthost by OAuth 2: what is got at the token endpoint.
create table smarthost_token (
  id             text primary key, -- digest of what tokens are for: endpoint, application, grant, scope, user
  tokens         blob,             -- JSON, sealed: the access token, and the refresh token if there is one; null: none
  serial         bigint not null,  -- of the access token
  expires_at     bigint,           -- of the access token; null: there is none
  fetched_at     bigint,
  due_at         bigint not null,  -- when the next is fetched
  failures       bigint not null,  -- in a row
  fault          text,             -- why the last fetch failed; null: it did not
  refused        text,             -- digest of the settings that the provider refused: nothing is fetched with them; null: none
  fetching_until bigint            -- until when a node fetches; null: none does
);
