create table template (
  id text primary key,
  account_id text not null references account (id),
  name text not null,
  alias text,
  draft_version_id text not null, -- the newest; edits go into it until it is published
  live_version_id text, -- what is sent; null until the first is published
  revision bigint not null, -- counts changes, so that none overwrites another
  created_at bigint not null,
  updated_at bigint not null,
  unique (account_id, alias)
);
create index template_account on template (account_id, id);

create table template_version (
  id text primary key,
  template_id text not null references template (id),
  subject text,
  html_body text not null,
  text_body text, -- null: made from the html
  header_from text,
  reply_to text not null, -- JSON array of mailboxes
  variables text not null, -- JSON [{key, type, fallback_value, created_at, updated_at}]
  created_at bigint not null,
  published_at bigint
);
create index template_version_template on template_version (template_id, published_at);

alter table message add column template_id text;
