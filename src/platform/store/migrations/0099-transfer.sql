-- Earlier versions cannot serve with this. They would send what must be encrypted as any other mail.
-- What its submitter asked of the transfer, as JSON: TLS at every step, a time to be delivered by, a priority. Null: nothing.
alter table message add column transfer text;
