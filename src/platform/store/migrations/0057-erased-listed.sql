-- Erased addresses on suppression lists: acceptance searches for a replacement only where there is one.
create index suppression_erased on suppression (address) where address like '%@erased.invalid';
