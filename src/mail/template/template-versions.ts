import type { BaseServices } from '../../platform/base-services.ts'
import type { Actor } from '../../senders/account/audit-log.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, type Row, type Statement } from '../../platform/store/database.ts'
import { findSources, type FoundSource } from './find-sources.ts'
import { templateKind, type LiveTemplates } from './live-templates.ts'
import type { ResolvedTemplate, TemplateUse } from './resolve-template.ts'
import type { DeclaredVariable, WrittenTemplate } from './template-content.ts'
import type { WrittenParts, WrittenSource } from './template-source.ts'
import type { Template } from './template-store.ts'
import type { TemplateWork } from './template-work.ts'
import {
  findDependents,
  findSource,
  findUses,
  findVersion,
  forgetOldVersions,
  listVersions,
  publishAgain,
  publishDraft,
  versionOf,
  type TemplateVersion,
  type VersionRow,
  type WholeVersionRow,
} from './template-version-store.ts'

/** How many published versions of a template are kept, including the live one: a year of weekly changes. */
export const versionsKept = 50
/** How often a publication is retried while others change the same template. */
const maxTries = 5

/** What to publish: the newest version, or the version published last with its layout and partials as they are now. */
type PublishedFrom = 'draft' | 'published'

/** A template whose published version uses another one. */
export interface Dependent extends Row {
  id: string
  name: string
  alias: string | null
  /** `outdated`: it uses a version that is no longer the published one. */
  state: 'current' | 'outdated'
}

interface VersionsServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  live: LiveTemplates
  work: TemplateWork
  /** @throws SternaError `not_found` */
  get(accountId: string, idOrAlias: string): Promise<Template>
}

interface SourceRow extends Row {
  id: string
  version_id: string | null
  html_body: string | null
  text_body: string | null
  layout: string | null
  variables: string | null
}

/** Whose template it is; ids are empty for one that is not saved. */
type TemplateIdentity = Pick<Template, 'id' | 'versionId' | 'accountId'>

/** What a template becomes, and what it is composed of. */
interface Resolution {
  /** Null if it is sent as written. */
  sent: ResolvedTemplate | null
  uses: TemplateUse[]
}

/** The published versions of each template. A published version never changes: sending an old one again creates a new version. */
export class TemplateVersions {
  readonly #services: VersionsServices

  constructor(services: VersionsServices) {
    this.#services = services
  }

  /**
   * Publishes a version, with layout and partials inserted. If that is already what is sent, nothing changes.
   * @throws SternaError `not_found`, `template_not_published` if `published` is requested and there is none, `validation_error`
   *   for what is wrong with the layout and the partials
   */
  publish(accountId: string, idOrAlias: string, { by, from = 'draft' }: { by: Actor | null; from?: PublishedFrom }): Promise<Template> {
    return this.#changing(accountId, idOrAlias, async (template) => {
      const isDraft = from === 'draft' && template.versionId !== template.liveVersionId
      const content = isDraft || template.versionId === template.liveVersionId ? template : await this.live(template)
      const { sent, uses } = await this.resolve(template, content)
      if (isDraft) return publishDraft({ template, versionId: template.versionId, sent, uses, by, now: this.#services.clock.now() })
      if (isSame(uses, await this.#usesOf(template.liveVersionId as string))) return null
      return this.#again(template, content, { sent, uses, by })
    })
  }

  /**
   * Sends an earlier version again, as a new version, exactly as it was sent then: with its layout and partials of that time. An
   * unpublished draft stays.
   * @throws SternaError `not_found`
   */
  restore(accountId: string, idOrAlias: string, number: number, by: Actor | null): Promise<Template> {
    return this.#changing(accountId, idOrAlias, async (template) => {
      if (number === template.liveNumber) return null
      const version = await this.get(template, number)
      const uses = await this.#usesOf(version.id)
      return this.#again(template, version, { sent: version.sent, uses, by })
    })
  }

  /** The versions that are kept, newest first. */
  list(template: Template): Promise<VersionRow[]> {
    return this.#services.db.slowRead<VersionRow>(listVersions, { id: template.id, accountId: template.accountId })
  }

  /** @throws SternaError `not_found` */
  async get(template: Template, number: number): Promise<TemplateVersion> {
    const [row] = await this.#services.db.read<WholeVersionRow>(findVersion, { id: template.id, number })
    if (row) return versionOf(row)
    throw new SternaError('not_found', `This template has no version ${number}. The newest ${versionsKept} are kept.`)
  }

  /** The version that is sent. @throws SternaError `template_not_published` */
  async live(template: Template): Promise<TemplateVersion> {
    if (template.liveNumber !== null) return this.get(template, template.liveNumber)
    throw new SternaError('template_not_published', 'This template has never been published. Publish it first.')
  }

  /** Templates whose published versions use this one. */
  dependents(template: Template): Promise<Dependent[]> {
    return this.#services.db.slowRead<Dependent>(findDependents, { id: template.id, accountId: template.accountId })
  }

  /**
   * What a version of a template would become if it were published now.
   * @throws SternaError `validation_error`
   */
  async resolve(template: TemplateIdentity, content: WrittenParts): Promise<Resolution> {
    const { html, text, layout, variables } = content
    const root = await this.#withPartials({ html, text, layout, variables, id: template.id, versionId: template.versionId })
    const found = await findSources(root, (name) => this.#source(template, root, name))
    if (found.size === 0) return { sent: null, uses: [] }
    const uses = new Map(Array.from(found.values(), ({ id, versionId }) => [id, { templateId: id, versionId }]))
    uses.delete(root.id)
    return { sent: await this.#services.work.resolve(root, [...found]), uses: [...uses.values()] }
  }

  async #withPartials(written: WrittenSource): Promise<FoundSource> {
    return { ...written, partials: await this.#services.work.partials(written) }
  }

  async #source({ accountId }: TemplateIdentity, root: FoundSource, name: string): Promise<FoundSource> {
    const [row] = await this.#services.db.read<SourceRow>(findSource, { accountId, idOrAlias: name })
    if (!row) throw new SternaError('template_not_found', `There is no template ${name}.`)
    if (row.id === root.id) return root
    if (row.version_id === null || row.html_body === null) {
      throw new SternaError('template_not_published', `The template ${name} has never been published.`)
    }
    const variables = JSON.parse(row.variables ?? '[]') as DeclaredVariable[]
    return this.#withPartials({
      id: row.id,
      versionId: row.version_id,
      html: row.html_body,
      text: row.text_body,
      layout: row.layout,
      variables,
    })
  }

  async #usesOf(versionId: string): Promise<TemplateUse[]> {
    const rows = await this.#services.db.read<{ template_id: string; used_version_id: string }>(findUses, { versionId })
    return rows.map((row) => ({ templateId: row.template_id, versionId: row.used_version_id }))
  }

  #again(template: Template, content: WrittenTemplate, { sent, uses, by }: Resolution & { by: Actor | null }): Statement[] {
    const now = this.#services.clock.now()
    return publishAgain({ template, versionId: newId('tplv', now), sent, uses, by, now }, content)
  }

  /** @param change the batch that publishes something; null if there is nothing to do */
  async #changing(accountId: string, idOrAlias: string, change: (template: Template) => Promise<Statement[] | null>): Promise<Template> {
    const { db, changes, live, get } = this.#services
    let template = await get(accountId, idOrAlias)
    for (let tries = 1; ; tries++) {
      const batch = await change(template)
      if (batch === null) return template
      try {
        await db.write([...batch, ...forgetOldVersions(template.id, versionsKept), ...changes.note(templateKind, template.id)])
        await live.reload(template.id)
        return await get(accountId, template.id)
      } catch (error) {
        if (!(error instanceof ConflictError) || tries === maxTries) throw error
        template = await get(accountId, template.id)
      }
    }
  }
}

const isSame = (a: TemplateUse[], b: TemplateUse[]): boolean => {
  const words = (uses: TemplateUse[]): string =>
    uses
      .map(({ templateId, versionId }) => `${templateId} ${versionId}`)
      .toSorted()
      .join()
  return words(a) === words(b)
}
