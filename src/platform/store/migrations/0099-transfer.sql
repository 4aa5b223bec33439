-- What its submitter asked of the transfer, as JSON: TLS at every step, a time to be delivered by, a priority. Null: nothing.
alter table message add column transfer text;
