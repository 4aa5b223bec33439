-- What the readers of a message can unsubscribe from: '' where it has no topic, null where they cannot.
alter table message add column unsubscribe_topic text;
