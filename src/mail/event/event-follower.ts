import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { WorkLoop } from '../../platform/store/work-loop.ts'

/** ms; events within this time cause one notification, so a busy log is read fifty times a second, not a thousand times */
const gatherMs = 20

interface NewsRow extends Row {
  account_id: string
  sandbox: number
  seq: number
}

/**
 * Notifies followers of an account's log of new events. One read of the log serves all, and nobody is woken for another account's events.
 */
export class EventFollower {
  readonly #db: Pick<Database, 'slowRead' | 'onInsert'>
  readonly #loop: WorkLoop
  readonly #followers = new Map<string, Set<() => void>>()
  /** Everybody was notified up to this position; null while nobody follows. */
  #told: number | null = null
  #unfollow: (() => void) | null = null

  constructor({ db, log }: { db: Pick<Database, 'slowRead' | 'onInsert'>; log: Log }) {
    this.#db = db
    this.#loop = new WorkLoop(log, { run: () => this.#look(), fault: 'the event log could not be followed', gatherMs })
  }

  /** Calls `onNews` after events of this account were written, from when the promise resolves until the returned function is called. */
  async follow(scope: AccountScope, onNews: () => void): Promise<() => void> {
    const key = keyOf(scope.accountId, scope.sandbox ? 1 : 0)
    const ofAccount = this.#followers.get(key) ?? new Set()
    this.#followers.set(key, ofAccount.add(onNews))
    this.#unfollow ??= this.#db.onInsert('event', () => this.#loop.wake())
    const leave = (): void => {
      ofAccount.delete(onNews)
      if (ofAccount.size === 0 && this.#followers.get(key) === ofAccount) this.#followers.delete(key)
      if (this.#followers.size === 0) this.#rest()
    }
    try {
      if (this.#told === null) {
        const [row] = await this.#db.slowRead<{ seq: number }>('select coalesce(max(seq), 0) as seq from event')
        this.#told ??= row?.seq ?? 0
      }
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  #rest(): void {
    this.#told = null
    this.#unfollow?.()
    this.#unfollow = null
  }

  async #look(): Promise<void> {
    if (this.#told === null) return
    const news = await this.#db.slowRead<NewsRow>(
      'select account_id, sandbox, max(seq) as seq from event where seq > :after group by account_id, sandbox',
      { after: this.#told },
    )
    for (const { account_id: accountId, sandbox, seq } of news) {
      if (this.#told !== null) this.#told = Math.max(this.#told, seq)
      for (const onNews of this.#followers.get(keyOf(accountId, sandbox)) ?? []) onNews()
    }
  }
}

const keyOf = (accountId: string, sandbox: number): string => `${accountId} ${sandbox}`
