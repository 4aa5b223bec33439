alter table template_version add column number bigint; -- counts the published versions of a template; null for a draft
alter table template_version add column published_by text; -- JSON {type, id, name}; null: not recorded
alter table template_version add column layout text; -- alias or id, as its owner wrote it
-- What is sent of a version that has a layout or partials; null: what is written. The text is another null where it is made from the html.
alter table template_version add column sent_html text;
alter table template_version add column sent_text text;
alter table template_version add column sent_variables text;

update template_version
   set number = (select count(*) from template_version earlier
                  where earlier.template_id = template_version.template_id and earlier.published_at is not null
                    and (earlier.published_at < template_version.published_at
                         or (earlier.published_at = template_version.published_at and earlier.id <= template_version.id)))
 where published_at is not null;

-- The versions of other templates that stand in the html or text of a published one.
create table template_use (
  version_id text not null,
  template_id text not null, -- the layout or partial
  used_version_id text not null,
  primary key (version_id, template_id)
);
create index template_use_template on template_use (template_id);

drop index template_version_template;
create index template_version_number on template_version (template_id, number);
