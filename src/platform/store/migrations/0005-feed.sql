-- What webhooks and the feed tell of, for those who follow it; what only the log of an email shows is left out.
create index event_feed on event (account_id, sandbox, seq)
  where type in ('email.sent', 'email.delivered', 'email.opened', 'email.clicked', 'email.bounced', 'email.complained', 'email.unsubscribed');
create index suppression_listed on suppression (account_id, sandbox, id);
