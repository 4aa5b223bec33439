-- Mail that did not arrive is counted by its cause too. Of what was counted before, only the category is known, which is also the name of
-- the cause that explains a bounce of which no more is known.
insert into rollup
  (account_id, breakdown, span, start, value, domain_id, sent, delivered, opened, clicked, bot_opened, bot_clicked, bounced_permanent,
   bounced_transient, complained, unsubscribed, suppressed, failed, delivery_delayed, unique_opened, unique_clicked)
  select account_id, 'cause', span, start, value, domain_id, sent, delivered, opened, clicked, bot_opened, bot_clicked, bounced_permanent,
         bounced_transient, complained, unsubscribed, suppressed, failed, delivery_delayed, unique_opened, unique_clicked
    from rollup where breakdown = 'bounce_category';
