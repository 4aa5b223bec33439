import type { Row, Statement, Value } from '../../platform/store/database.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'

/** A template with its newest version, which its owner sees and edits. */
export interface Template extends WrittenTemplate {
  /** `tpl_…` */
  id: string
  accountId: string
  name: string
  /** Unique in its account. */
  alias: string | null
  /** The id of the content in this object; the same as `liveVersionId` if that is the live version. */
  versionId: string
  /** Null until the first is published. */
  liveVersionId: string | null
  /** When the live version was published; epoch, ms, like the other times. */
  publishedAt: number | null
  /** The number of the live version. */
  liveNumber: number | null
  /** Whether a layout or partial of the live version has since been published again. */
  isOutdated: boolean
  /** Increases with each change. */
  revision: number
  createdAt: number
  updatedAt: number
}

/** What is stored in a version. */
export interface ContentRow extends Row {
  subject: string | null
  html_body: string
  text_body: string | null
  header_from: string | null
  reply_to: string
  /** JSON, as `reply_to`. */
  variables: string
  layout: string | null
}

export interface TemplateRow extends ContentRow {
  id: string
  account_id: string
  name: string
  alias: string | null
  draft_version_id: string
  live_version_id: string | null
  published_at: number | null
  number: number | null
  outdated_uses: number
  revision: number
  created_at: number
  updated_at: number
}

/** The template of an account by its id or alias; an alias never has the form of an id. */
export const findTemplate = `
  select template.id, template.account_id, template.name, template.alias, template.draft_version_id, template.live_version_id,
         live.published_at, live.number, template.revision, template.created_at, template.updated_at, draft.subject, draft.html_body,
         draft.text_body, draft.header_from, draft.reply_to, draft.variables, draft.layout,
         (select count(*) from template_use used join template other on other.id = used.template_id
           where used.version_id = template.live_version_id and other.live_version_id <> used.used_version_id) as outdated_uses
    from template join template_version draft on draft.id = template.draft_version_id
         left join template_version live on live.id = template.live_version_id
   where template.account_id = :accountId and (template.id = :idOrAlias or template.alias = :idOrAlias)`

export interface LiveRow extends Row {
  id: string
  subject: string | null
  /** Null if nothing is published. */
  html_body: string | null
  text_body: string | null
  header_from: string | null
  reply_to: string | null
  variables: string | null
}

/** What is sent of a template, with layout and partials inserted. */
export const findLive = `
  select template.id, live.subject, coalesce(live.sent_html, live.html_body) as html_body,
         case when live.sent_html is null then live.text_body else live.sent_text end as text_body,
         live.header_from, live.reply_to, coalesce(live.sent_variables, live.variables) as variables
    from template left join template_version live
      on live.template_id = template.id and case when :version = 0 then live.id = template.live_version_id else live.number = :version end
   where template.account_id = :accountId and (template.id = :idOrAlias or template.alias = :idOrAlias)`

/** Refused (`expect`) if the account already has `limit` templates. Insert its version together with it. */
export const insertTemplate = (template: Template, limit: number): Statement => ({
  sql: `insert into template (id, account_id, name, alias, draft_version_id, revision, created_at, updated_at)
        select :id, :accountId, :name, :alias, :versionId, 0, :now, :now
         where (select count(*) from template where account_id = :accountId) < :limit`,
  params: {
    id: template.id,
    accountId: template.accountId,
    name: template.name,
    alias: template.alias,
    versionId: template.versionId,
    now: template.createdAt,
    limit,
  },
  expect: 1,
  locks: template.accountId,
})

/** Refused (`expect`) if the template is no longer at the previous revision. */
export const updateTemplate = (template: Template): Statement => ({
  sql: `update template set name = :name, alias = :alias, draft_version_id = :versionId, revision = revision + 1, updated_at = :now
         where id = :id and account_id = :accountId and revision = :revision`,
  params: {
    id: template.id,
    accountId: template.accountId,
    name: template.name,
    alias: template.alias,
    versionId: template.versionId,
    revision: template.revision - 1,
    now: template.updatedAt,
  },
  expect: 1,
})

export const insertVersion = (template: Template): Statement => ({
  sql: `insert into template_version
          (id, template_id, subject, html_body, text_body, header_from, reply_to, variables, layout, created_at)
        values (:versionId, :templateId, :subject, :html, :text, :from, :replyTo, :variables, :layout, :now)`,
  params: { versionId: template.versionId, ...contentParams(template), templateId: template.id, now: template.updatedAt },
})

/** For a version that has not been published. */
export const updateVersion = (template: Template): Statement => ({
  sql: `update template_version set subject = :subject, html_body = :html, text_body = :text, header_from = :from,
                                    reply_to = :replyTo, variables = :variables, layout = :layout
         where id = :versionId and published_at is null`,
  params: { versionId: template.versionId, ...contentParams(template) },
  expect: 1,
})

export const contentOf = (row: ContentRow): WrittenTemplate => ({
  subject: row.subject,
  html: row.html_body,
  text: row.text_body,
  from: row.header_from,
  replyTo: JSON.parse(row.reply_to) as string[],
  variables: JSON.parse(row.variables) as DeclaredVariable[],
  layout: row.layout,
})

export const contentParams = ({ subject, html, text, from, replyTo, variables, layout }: WrittenTemplate): Record<string, Value> => ({
  subject,
  html,
  text,
  from,
  replyTo: JSON.stringify(replyTo),
  variables: JSON.stringify(variables),
  layout,
})

const deletion = (which: string, params: Record<string, string>, expect?: 1): Statement[] => [
  {
    sql: `delete from template_use where version_id in (
            select version.id from template_version version join template on template.id = version.template_id where ${which})`,
    params,
  },
  { sql: `delete from template_version where template_id in (select template.id from template where ${which})`, params },
  { sql: `delete from template where ${which}`, params, ...(expect && { expect }) },
]

/** Refused (`expect`) if there is no such template. Mail that was sent with it keeps its id. */
export const deleteTemplate = (scope: { id: string; accountId: string }): Statement[] =>
  deletion('template.id = :id and template.account_id = :accountId', scope, 1)

/** Deletes all templates of an account. */
export const deleteTemplatesOf = (accountId: string): Statement[] => deletion('template.account_id = :accountId', { accountId })
