-- Entries that stand for a whole domain (@example.com) or for an erased address: acceptance searches for them only where there are some.
create index suppression_other_form on suppression (address) where address like '@%' or address like '%@erased.invalid';
