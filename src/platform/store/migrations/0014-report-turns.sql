-- By whose turn a report is taken, so that no flood keeps the reports of others waiting.
alter table incoming_report add column network text; -- of the client
alter table incoming_report add column token_account text; -- of the recipient whose token is in its address; 'none'
update incoming_report set network = remote_address, token_account = 'none' where state = 'received';
drop index incoming_report_waiting;
create index incoming_report_by_network on incoming_report (purpose, network, id) where state = 'received';
create index incoming_report_by_account on incoming_report (purpose, token_account, id) where state = 'received';
