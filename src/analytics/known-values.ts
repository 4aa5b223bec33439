import type { Database, Row } from '../store/database.ts'
import { dayMs } from './period.ts'

/** What counts for a value that is one too many of its day. */
export const otherValue = '(other)'

/** Values that are kept in memory, of all accounts together. */
const mostKept = 50_000

/** What has values of its own: the tags or templates of an account on a day (UTC, epoch ms), or the links of one of its templates. */
export interface Scope {
  accountId: string
  breakdown: 'tag' | 'template'
  day: number
}
export interface LinkScope {
  accountId: string
  templateId: string
  day: number
}

/** How many values a day may have. */
export interface MostValues {
  /** Tags of an account, and templates. */
  breakdown: number
  /** Links of a template. */
  link: number
}

/**
 * Bounds how many rows an account can fill: on each day the first so many values have rows of their own, and what comes then counts
 * under `(other)`. A value stays where it was first counted that day, since it is found among the rows.
 */
export class KnownValues {
  readonly #db: Pick<Database, 'slowRead'>
  readonly #most: MostValues
  readonly #known = new Map<string, Set<string>>()
  /** Those that are not written yet. */
  #unwritten: { known: Set<string>; value: string }[] = []
  #kept = 0

  constructor(db: Pick<Database, 'slowRead'>, most: MostValues) {
    this.#db = db
    this.#most = most
  }

  /** What counts for this value; it has a row of its own from then on, if there is room. */
  async place(scope: Scope | LinkScope, value: string): Promise<string> {
    const key =
      'breakdown' in scope
        ? `${scope.day} ${scope.breakdown} ${scope.accountId}`
        : `${scope.day} link ${scope.accountId} ${scope.templateId}`
    const known = this.#known.get(key) ?? (await this.#load(key, scope))
    if (known.has(value)) return value
    if (known.size >= ('breakdown' in scope ? this.#most.breakdown : this.#most.link)) return otherValue
    known.add(value)
    this.#unwritten.push({ known, value })
    this.#kept++
    return value
  }

  /** All that was placed since the last call is in the database now. */
  written(): void {
    this.#unwritten = []
    if (this.#kept <= mostKept) return
    this.#known.clear()
    this.#kept = 0
  }

  /** None of that is. */
  notWritten(): void {
    for (const { known, value } of this.#unwritten) known.delete(value)
    this.#unwritten = []
  }

  /** Somebody else has written. */
  forget(): void {
    this.#unwritten = []
    this.#known.clear()
    this.#kept = 0
  }

  async #load(key: string, scope: Scope | LinkScope): Promise<Set<string>> {
    const rows = await this.#read(scope)
    const known = new Set(rows.map(({ value }) => value))
    known.delete(otherValue)
    this.#known.set(key, known)
    this.#kept += known.size
    return known
  }

  #read(scope: Scope | LinkScope): Promise<(Row & { value: string })[]> {
    if ('templateId' in scope) {
      return this.#db.slowRead(
        'select link as value from rollup_link where account_id = :owner and template_id = :templateId and start = :day',
        { owner: scope.accountId, templateId: scope.templateId, day: scope.day },
      )
    }
    return this.#db.slowRead(
      'select distinct value from rollup where account_id = :owner and breakdown = :breakdown and span = :span and start = :day',
      { owner: scope.accountId, breakdown: scope.breakdown, span: dayMs, day: scope.day },
    )
  }
}
