import type { Database, Row } from '../../platform/store/database.ts'
import { dayMs } from './period.ts'

/** Counts values beyond the daily limit. */
export const otherValue = '(other)'

/** Values in memory, over all accounts. */
const maxKept = 50_000

/** What has values of its own: an account's tags or templates on a day (UTC, epoch ms), or the links of a template. */
interface Scope {
  accountId: string
  breakdown: 'tag' | 'template'
  day: number
}
interface LinkScope {
  accountId: string
  templateId: string
  day: number
}

/** Values per day. */
export interface MostValues {
  /** Tags of an account, or templates. */
  breakdown: number
  /** Links of a template. */
  link: number
}

/**
 * Limits the rows of an account. Each day the first values get rows of their own, and later ones count as `(other)`. A value keeps its row
 * for the day, because it is found there.
 */
export class KnownValues {
  readonly #db: Pick<Database, 'slowRead'>
  readonly #most: MostValues
  readonly #known = new Map<string, Set<string>>()
  /** Values not written yet. */
  #unwritten: { known: Set<string>; value: string }[] = []
  #kept = 0

  constructor(db: Pick<Database, 'slowRead'>, most: MostValues) {
    this.#db = db
    this.#most = most
  }

  /** The name under which this value counts. If there is room, it now has a row of its own. */
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

  /** Everything placed since the last call is now in the database. */
  written(): void {
    this.#unwritten = []
    if (this.#kept <= maxKept) return
    this.#known.clear()
    this.#kept = 0
  }

  /** None of it was written. */
  notWritten(): void {
    for (const { known, value } of this.#unwritten) known.delete(value)
    this.#unwritten = []
  }

  /** Another writer may have added values. */
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
