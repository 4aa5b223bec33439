import { LRUCache } from 'lru-cache'
import { SternaError } from '../../platform/errors.ts'
import type { ChangeFollower, Changes } from '../../platform/store/changes.ts'
import type { Database } from '../../platform/store/database.ts'
import { parseContent, type ParsedContent, type TemplateContent } from './template-content.ts'
import { findLive, type LiveRow } from './template-store.ts'

/** A template as it is sent: a published version of it, as a rule the latest. */
export interface LiveTemplate extends TemplateContent {
  /** `tpl_…` */
  id: string
}

interface Cached {
  readonly template: LiveTemplate
  readonly parsed: ParsedContent
}

/** Of the changes that others tell. */
export const templateKind = 'template'

/** characters of templates kept in memory; parsed they take several times as much */
const room = 16 * 1024 * 1024

/** Published templates for sending; those in use come from memory. */
export class LiveTemplates implements ChangeFollower {
  readonly #db: Pick<Database, 'read'>
  /** By account, id or alias, and version. */
  readonly #cached = new LRUCache<string, Cached>({ maxSize: room, sizeCalculation: sizeOf })
  /** Counts removals from memory: what is being read at the same time may be outdated. */
  #forgotten = 0

  constructor(db: Pick<Database, 'read'>, changes: Pick<Changes, 'on'>) {
    this.#db = db
    changes.on(templateKind, this)
  }

  /**
   * `version`: the number of a published version; null: the one that is published now.
   * @throws SternaError `template_not_found`, `template_not_published`
   */
  async get(
    accountId: string,
    idOrAlias: string,
    version: number | null = null,
  ): Promise<{ template: LiveTemplate; parsed: ParsedContent }> {
    const key = `${accountId} ${idOrAlias} ${version ?? ''}`
    const cached = this.#cached.get(key)
    if (cached) return cached
    const forgotten = this.#forgotten
    const [row] = await this.#db.read<LiveRow>(findLive, { accountId, idOrAlias, version: version ?? 0 })
    const template = liveTemplate(row, version)
    const found = held(template)
    if (forgotten === this.#forgotten) this.#cached.set(key, found)
    return found
  }

  /** Call it when a template has changed: it is read when it is wanted again. */
  async reload(id: string): Promise<void> {
    this.#forgotten++
    for (const [key, { template }] of Array.from(this.#cached.entries())) if (template.id === id) this.#cached.delete(key)
  }

  async load(): Promise<void> {
    this.#forgotten++
    this.#cached.clear()
  }
}

/** Parsed when it is first wanted: where it is large, it is parsed on another thread as a rule. */
function held(template: LiveTemplate): Cached {
  let parsed: ParsedContent | null = null
  return {
    template,
    get parsed() {
      return (parsed ??= parseContent(template))
    },
  }
}

/** characters; limits how many small ones are held, too */
const overhead = 4 * 1024

const sizeOf = ({ template }: Cached): number => template.html.length + (template.text?.length ?? 0) + overhead

function liveTemplate(row: LiveRow | undefined, version: number | null): LiveTemplate {
  if (!row) throw refusal('template_not_found', 'There is no template with this id or alias.')
  if (row.html_body === null) {
    const message = version === null ? 'This template was never published. Publish it first.' : `This template has no version ${version}.`
    throw refusal('template_not_published', message)
  }
  return {
    id: row.id,
    subject: row.subject,
    html: row.html_body,
    text: row.text_body,
    from: row.header_from,
    replyTo: JSON.parse(row.reply_to ?? '[]') as string[],
    variables: JSON.parse(row.variables ?? '[]') as TemplateContent['variables'],
  }
}

const refusal = (code: 'template_not_found' | 'template_not_published', message: string): SternaError =>
  new SternaError(code, message, { faults: [{ field: 'template.id', code, message, help: null }] })
