import type { BaseServices } from '../../platform/base-services.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { ConflictError, UniqueError, type Database, type Row, type Statement, refusedAs } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { LiveTemplates, templateKind } from './live-templates.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'
import { asSent } from './template-diff.ts'
import {
  contentOf,
  deleteTemplate,
  findTemplate,
  insertTemplate,
  insertVersion,
  updateTemplate,
  updateVersion,
  type Template,
  type TemplateRow,
} from './template-store.ts'
import { TemplateVersions } from './template-versions.ts'
import { directTemplateWork, type TemplateWork } from './template-work.ts'

/** What an owner sets for a template. */
export interface TemplateFields extends Omit<WrittenTemplate, 'variables'> {
  name: string
  alias: string | null
  variables: Pick<DeclaredVariable, 'key' | 'type' | 'fallbackValue'>[]
}

/** The content of a template that need not be saved. */
type UnsavedContent = Omit<TemplateFields, 'name' | 'alias'>

/** A template in a list. */
export interface TemplateListRow extends Row {
  id: string
  name: string
  alias: string | null
  published_at: number | null
  created_at: number
  updated_at: number
}

interface TemplateListServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  work?: TemplateWork
}

/** How many templates an account may have. */
const templateLimit = 1000
/** How often a change is retried while others change the same template. */
const maxTries = 5
/** characters */
const maxNameLength = 255

const notFound = (): SternaError => new SternaError('not_found', 'There is no template with this id or alias.')

/** The templates of all accounts. Edits go into a draft; the version published last is the one that is sent. */
export class TemplateList {
  /** What emails are made from. */
  readonly live: LiveTemplates
  /** The published versions, and publishing. */
  readonly versions: TemplateVersions
  /** Rendering, comparing and checking. */
  readonly work: TemplateWork
  readonly #db: Database
  readonly #clock: Clock
  readonly #changes: Pick<Changes, 'note'>

  constructor({ db, clock, changes, work = directTemplateWork }: TemplateListServices) {
    this.#db = db
    this.#clock = clock
    this.#changes = changes
    this.work = work
    this.live = new LiveTemplates(db, changes)
    this.versions = new TemplateVersions({ db, clock, changes, live: this.live, work, get: this.get.bind(this) })
  }

  /**
   * Creates a template; it must be published before it can be sent.
   * @throws SternaError `validation_error`, `alias_taken`
   */
  async create(accountId: string, fields: TemplateFields): Promise<Template> {
    await this.#check(fields)
    const now = this.#clock.now()
    const template: Template = {
      ...fields,
      variables: declared(fields.variables, [], now),
      id: newId('tpl', now),
      accountId,
      versionId: newId('tplv', now),
      liveVersionId: null,
      publishedAt: null,
      liveNumber: null,
      isOutdated: false,
      revision: 0,
      createdAt: now,
      updatedAt: now,
    }
    const write = this.#write([insertTemplate(template, templateLimit), insertVersion(template)], template.alias)
    await refusedAs(write, ConflictError, tooMany)
    return template
  }

  /**
   * With its newest version.
   * @throws SternaError `not_found`, also for a template of another account
   */
  async get(accountId: string, idOrAlias: string): Promise<Template> {
    const [row] = await this.#db.read<TemplateRow>(findTemplate, { accountId, idOrAlias })
    if (!row) throw notFound()
    return templateOf(row)
  }

  /** A page of templates for `listBody`. Uses the index template_account. */
  page(accountId: string, page: Page): Promise<TemplateListRow[]> {
    const { condition, order, params } = pageClause(page, 'template.id')
    return this.#db.slowRead<TemplateListRow>(
      `select template.id, template.name, template.alias, live.published_at, template.created_at, template.updated_at
         from template left join template_version live on live.id = template.live_version_id
        where template.account_id = :accountId and ${condition} ${order}`,
      { accountId, ...params },
    )
  }

  /**
   * Changes what is given. A new name or alias takes effect at once, the rest when it is published.
   * @throws SternaError `not_found`, `validation_error`, `alias_taken`
   */
  async change(accountId: string, idOrAlias: string, changes: Partial<TemplateFields>): Promise<Template> {
    await this.#check(changes)
    let before = await this.get(accountId, idOrAlias)
    for (let tries = 1; ; tries++) {
      const now = this.#clock.now()
      const variables = changes.variables ? declared(changes.variables, before.variables, now) : before.variables
      const after: Template = { ...before, ...changes, variables, revision: before.revision + 1, updatedAt: now }
      try {
        await this.#write([...this.#changing(before, after), ...this.#changes.note(templateKind, after.id)], after.alias)
        await this.live.reload(after.id)
        return after
      } catch (error) {
        if (!(error instanceof ConflictError) || tries === maxTries) throw error
        before = await this.get(accountId, before.id)
      }
    }
  }

  /** A published version never changes: the first edit after it creates a new one. */
  #changing(before: Template, after: Template): Statement[] {
    if (isSameContent(before, after)) return [updateTemplate(after)]
    if (before.versionId !== before.liveVersionId) return [updateTemplate(after), updateVersion(after)]
    after.versionId = newId('tplv', after.updatedAt)
    return [updateTemplate(after), insertVersion(after)]
  }

  /**
   * Creates an unpublished copy of the newest version, without the alias.
   * @throws SternaError `not_found`, `validation_error`
   */
  async duplicate(accountId: string, idOrAlias: string): Promise<Template> {
    const original = await this.get(accountId, idOrAlias)
    const { subject, html, text, from, replyTo, variables, layout } = original
    const suffix = ' (copy)'
    const name = `${original.name.slice(0, maxNameLength - suffix.length)}${suffix}`
    return this.create(accountId, { name, alias: null, subject, html, text, from, replyTo, variables, layout })
  }

  /** Deletes it with all its versions. @throws SternaError `not_found` */
  async remove(accountId: string, idOrAlias: string): Promise<Template> {
    const template = await this.get(accountId, idOrAlias)
    const batch = [...deleteTemplate({ id: template.id, accountId }), ...this.#changes.note(templateKind, template.id)]
    await refusedAs(this.#db.write(batch), ConflictError, notFound)
    await this.live.reload(template.id)
    return template
  }

  /**
   * What would be sent if this content were saved and published now; nothing is saved.
   * @throws SternaError `validation_error`
   */
  async preview(accountId: string, fields: UnsavedContent): Promise<WrittenTemplate> {
    const content = { ...fields, variables: declared(fields.variables, [], this.#clock.now()) }
    await this.#check(content)
    return asSent(content, (await this.versions.resolve({ accountId, id: '', versionId: '' }, content)).sent)
  }

  async #check(content: Partial<TemplateFields>): Promise<void> {
    const { variables: _, ...parts } = content
    const faults = await this.work.faults(parts)
    if (faults[0]) throw new SternaError('validation_error', faults[0].message, { faults })
  }

  async #write(batch: Statement[], alias: string | null): Promise<void> {
    const taken = (cause: unknown) =>
      new SternaError('alias_taken', `This account has a template with the alias ${alias} already.`, { cause })
    await refusedAs(this.#db.write(batch), UniqueError, taken)
  }
}

const tooMany = (cause: unknown): SternaError =>
  new SternaError('validation_error', `An account can have at most ${templateLimit} templates. Delete one that is no longer needed.`, {
    cause,
  })

/** A variable that has not changed keeps its times. */
function declared(variables: TemplateFields['variables'], before: DeclaredVariable[], now: number): DeclaredVariable[] {
  return variables.map(({ key, type, fallbackValue }) => {
    const old = before.find((variable) => variable.key === key)
    const isSame = old?.type === type && old.fallbackValue === fallbackValue
    return { key, type, fallbackValue, createdAt: old?.createdAt ?? now, updatedAt: isSame ? old.updatedAt : now }
  })
}

const isSameContent = (a: Template, b: Template): boolean =>
  a.subject === b.subject &&
  a.html === b.html &&
  a.text === b.text &&
  a.from === b.from &&
  a.layout === b.layout &&
  JSON.stringify([a.replyTo, a.variables]) === JSON.stringify([b.replyTo, b.variables])

const templateOf = (row: TemplateRow): Template => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  alias: row.alias,
  versionId: row.draft_version_id,
  liveVersionId: row.live_version_id,
  publishedAt: row.published_at,
  liveNumber: row.number,
  isOutdated: row.outdated_uses > 0,
  revision: row.revision,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  ...contentOf(row),
})
