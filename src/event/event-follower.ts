import type { AccountScope } from '../account/account-scope.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Database, Row } from '../store/database.ts'

/** Events of so long are told of together, ms: a busy log is looked at fifty times a second, not a thousand times. */
const gatherMs = 20
/** When a look that failed is taken again, ms. */
const againMs = 1_000

interface NewsRow extends Row {
  account_id: string
  sandbox: number
  seq: number
}

/**
 * Tells those who follow the log of an account that there is something new in it. One look at the log serves them all,
 * and nobody is woken for the events of others.
 */
export class EventFollower {
  readonly #parts: { db: Pick<Database, 'report'>; log: Log }
  readonly #followers = new Map<string, Set<() => void>>()
  /** Up to here everybody has been told; null while nobody follows. */
  #told: number | null = null
  #isUnread = false
  #isBusy = false

  constructor(parts: { db: Pick<Database, 'report'>; log: Log }) {
    this.#parts = parts
  }

  /** To be called after events were written; costs nothing while nobody follows. */
  eventsWritten(): void {
    if (this.#followers.size === 0) return
    this.#isUnread = true
    if (!this.#isBusy) this.#lookIn(gatherMs)
  }

  /**
   * Calls `onNews` after events of this account were written, from the moment at which the promise resolves until the
   * function that it gives is called.
   */
  async follow(scope: AccountScope, onNews: () => void): Promise<() => void> {
    const key = keyOf(scope.accountId, scope.sandbox ? 1 : 0)
    const ofAccount = this.#followers.get(key) ?? new Set()
    this.#followers.set(key, ofAccount.add(onNews))
    const leave = (): void => {
      ofAccount.delete(onNews)
      if (ofAccount.size === 0 && this.#followers.get(key) === ofAccount) this.#followers.delete(key)
      if (this.#followers.size === 0) this.#told = null
    }
    try {
      if (this.#told === null) {
        const [row] = await this.#parts.db.report<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
        this.#told ??= row?.seq ?? 0
      }
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  #lookIn(ms: number): void {
    this.#isBusy = true
    setTimeout(() => void this.#look(), ms).unref()
  }

  async #look(): Promise<void> {
    this.#isUnread = false
    let wait = gatherMs
    try {
      const after = this.#told
      if (after !== null) this.#tell(await this.#newsAfter(after))
    } catch (error) {
      this.#parts.log.error({ reason: messageOf(error) }, 'the event log could not be followed; trying again')
      this.#isUnread = true
      wait = againMs
    }
    this.#isBusy = false
    if (this.#isUnread && this.#followers.size > 0) this.#lookIn(wait)
  }

  #newsAfter(after: number): Promise<NewsRow[]> {
    return this.#parts.db.report<NewsRow>(
      'select account_id, sandbox, max(seq) as seq from event where seq > :after group by account_id, sandbox',
      { after },
    )
  }

  #tell(news: NewsRow[]): void {
    for (const { account_id: accountId, sandbox, seq } of news) {
      if (this.#told !== null) this.#told = Math.max(this.#told, seq)
      for (const onNews of this.#followers.get(keyOf(accountId, sandbox)) ?? []) onNews()
    }
  }
}

const keyOf = (accountId: string, sandbox: number): string => `${accountId} ${sandbox}`
