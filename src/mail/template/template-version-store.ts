import type { Actor } from '../../senders/account/audit-log.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import type { ResolvedTemplate, TemplateUse } from './resolve-template.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'
import { contentOf, contentParams, type ContentRow, type Template } from './template-store.ts'

/** A published version as it is listed. */
export interface VersionRow extends Row {
  id: string
  number: number
  published_at: number
  published_by: string | null
}

/** A published version of a template. */
export interface TemplateVersion extends WrittenTemplate {
  /** `tplv_…` */
  id: string
  number: number
  /** Epoch, ms. */
  publishedAt: number
  /** Null: not recorded. */
  publishedBy: Actor | null
  /** With layout and partials inserted; null if it is sent as written. */
  sent: ResolvedTemplate | null
}

export interface WholeVersionRow extends VersionRow, ContentRow {
  sent_html: string | null
  sent_text: string | null
  sent_variables: string | null
}

/** The published versions of a template, newest first. Uses the index template_version_number. */
export const listVersions = `
  select id, number, published_at, published_by from template_version
   where template_id = :id and number is not null order by number desc`

/** One published version. */
export const findVersion = `
  select id, number, published_at, published_by, subject, html_body, text_body, header_from, reply_to, variables, layout, sent_html,
         sent_text, sent_variables
    from template_version where template_id = :id and number = :number`

/** The layouts and partials of a published version. */
export const findUses = 'select template_id, used_version_id from template_use where version_id = :versionId order by template_id'

/** Templates whose published versions use this one, and whether they use its published version. */
export const findDependents = `
  select template.id, template.name, template.alias,
         case when used.used_version_id = other.live_version_id then 'current' else 'outdated' end as state
    from template_use used join template on template.live_version_id = used.version_id
         join template other on other.id = used.template_id
   where used.template_id = :id and template.account_id = :accountId order by template.id`

/** A layout or partial: the published version as its owner wrote it. */
export const findSource = `
  select template.id, template.live_version_id as version_id, live.html_body, live.text_body, live.layout, live.variables
    from template left join template_version live on live.id = template.live_version_id
   where template.account_id = :accountId and (template.id = :idOrAlias or template.alias = :idOrAlias)`

export const versionOf = (row: WholeVersionRow): TemplateVersion => ({
  id: row.id,
  number: row.number,
  publishedAt: row.published_at,
  publishedBy: publisherOf(row),
  ...contentOf(row),
  sent: row.sent_html === null ? null : { html: row.sent_html, text: row.sent_text, variables: variablesIn(row.sent_variables) },
})

const variablesIn = (json: string | null): DeclaredVariable[] => JSON.parse(json ?? '[]') as DeclaredVariable[]

/** Null: not recorded. */
export const publisherOf = ({ published_by: by }: VersionRow): Actor | null => (by === null ? null : (JSON.parse(by) as Actor))

/** The version that becomes live. */
interface Publication {
  template: Pick<Template, 'id' | 'accountId' | 'revision'>
  versionId: string
  /** Null if it is sent as written. */
  sent: ResolvedTemplate | null
  uses: TemplateUse[]
  by: Actor | null
  now: number
}

/** Publishes the draft. Refused (`expect`) if the template is no longer at its revision. */
export const publishDraft = (publication: Publication): Statement[] => [
  {
    sql: `update template set live_version_id = draft_version_id, revision = revision + 1, updated_at = :now
           where id = :id and account_id = :accountId and revision = :revision`,
    params: templateParams(publication),
    expect: 1,
  },
  {
    sql: `update template_version set published_at = :now, published_by = :by, sent_html = :sentHtml, sent_text = :sentText,
                 sent_variables = :sentVariables,
                 number = (select coalesce(max(number), 0) + 1 from template_version other where other.template_id = :id)
           where id = :versionId`,
    params: publicationParams(publication),
  },
  ...usesOf(publication),
]

/**
 * Sends an earlier version again, as a new version; a draft that differs from what was sent stays. Refused (`expect`) if the template
 * is no longer at its revision.
 */
export const publishAgain = (publication: Publication, content: WrittenTemplate): Statement[] => [
  {
    sql: `update template set draft_version_id = case when draft_version_id = live_version_id then :versionId else draft_version_id end,
                 live_version_id = :versionId, revision = revision + 1, updated_at = :now
           where id = :id and account_id = :accountId and revision = :revision`,
    params: templateParams(publication),
    expect: 1,
  },
  {
    sql: `insert into template_version
            (id, template_id, subject, html_body, text_body, header_from, reply_to, variables, layout, created_at, published_at,
             published_by, sent_html, sent_text, sent_variables, number)
          values (:versionId, :id, :subject, :html, :text, :from, :replyTo, :variables, :layout, :now, :now, :by,
                  :sentHtml, :sentText, :sentVariables,
                  (select coalesce(max(number), 0) + 1 from template_version where template_id = :id))`,
    params: { ...publicationParams(publication), ...contentParams(content) },
  },
  ...usesOf(publication),
]

/** The row has more members than these: all of the content. */
const templateParams = ({ template: { id, accountId, revision }, versionId, now }: Publication) => ({
  id,
  accountId,
  revision,
  versionId,
  now,
})

const publicationParams = ({ template, versionId, sent, by, now }: Publication) => ({
  id: template.id,
  versionId,
  now,
  by: by && JSON.stringify({ type: by.type, id: by.id, name: by.name }),
  sentHtml: sent && sent.html,
  sentText: sent && sent.text,
  sentVariables: sent && JSON.stringify(sent.variables),
})

const usesOf = ({ versionId, uses }: Publication): Statement[] =>
  uses.map((use) => ({
    sql: 'insert into template_use (version_id, template_id, used_version_id) values (:versionId, :templateId, :usedVersionId)',
    params: { versionId, templateId: use.templateId, usedVersionId: use.versionId },
  }))

/** Keeps the newest `kept` published versions, including the live one. */
export const forgetOldVersions = (templateId: string, kept: number): Statement[] => {
  const params = { id: templateId, kept }
  return [
    {
      sql: `delete from template_use where version_id in (select id from template_version where template_id = :id
              and number <= (select max(number) from template_version where template_id = :id) - :kept)`,
      params,
    },
    {
      sql: `delete from template_version where template_id = :id
              and number <= (select max(number) from template_version other where other.template_id = :id) - :kept`,
      params,
    },
  ]
}
