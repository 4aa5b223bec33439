import type { Clock } from '../../platform/clock.ts'
import type { Secrets } from '../../senders/account/key-file.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Idempotency } from '../../mail/message/submission.ts'
import { ConflictError, type Database, refusedAs, type Row, type Statement } from '../../platform/store/database.ts'
import type { AcceptanceRule } from './acceptance-rule.ts'

/** How long a key is remembered, ms. */
const keptMs = 24 * 3_600_000

/**
 * What remembers an answer under its key, for the batch that makes the answer true. `messageId` is null if the answer is about several
 * messages.
 */
export type Remember = (answer: object, messageId: string | null) => Statement

/** An idempotency key stands for one submission. */
export const idempotencyRule = (remember: Remember): AcceptanceRule => ({
  guard: 'idempotency',
  statements: ({ answer, emails: [first, second] }) => [remember(answer, first && !second ? first.message.id : null)],
  onConflict(cause) {
    throw concurrent(cause)
  },
})

type Sealing = Pick<Secrets, 'seal' | 'open'>

/** An answer as it is remembered; sealed: base64. */
type Kept = { answer: unknown } | { sealed: string }

interface IdempotencyRow extends Row {
  fingerprint: string
  response: string
  expires_at: number
}

/**
 * Executes a submission with an idempotency key only once. The key is written in the same batch as the message, so neither a crash nor
 * two simultaneous submissions can leave one without the other.
 */
export class IdempotencyKeys {
  readonly #db: Database
  readonly #clock: Clock
  readonly #secrets: Sealing
  readonly #owner: string
  readonly #running = new Set<string>()

  /** @param services.owner the name of this process */
  constructor(services: { db: Database; clock: Clock; secrets: Sealing; owner: string }) {
    this.#db = services.db
    this.#clock = services.clock
    this.#secrets = services.secrets
    this.#owner = services.owner
  }

  /**
   * Runs `submit` unless the key already has an answer, which is then returned with `replayed: true`. Without a key it always runs, and has
   * nothing to remember.
   * @throws SternaError `invalid_idempotent_request` if the key was used for another submission,
   *   `concurrent_idempotent_requests` while the first one with this key is in progress
   */
  once<T extends { replayed: boolean }>(
    accountId: string,
    idempotency: Idempotency | null,
    submit: (remember: Remember | null) => Promise<T>,
  ): Promise<T> {
    return idempotency === null ? submit(null) : this.#once(accountId, idempotency, submit)
  }

  async #once<T extends { replayed: boolean }>(
    accountId: string,
    idempotency: Idempotency,
    submit: (remember: Remember) => Promise<T>,
  ): Promise<T> {
    const place = JSON.stringify([accountId, idempotency.operation, idempotency.key])
    if (this.#running.has(place)) throw concurrent()
    this.#running.add(place)
    try {
      const known = await this.#find(accountId, idempotency)
      if (known) return { ...(JSON.parse(known.response) as T), replayed: true }
      return await submit((answer, messageId) => this.#remember(accountId, idempotency, answer, messageId))
    } finally {
      this.#running.delete(place)
    }
  }

  /**
   * The same for anything else that is asked for, which no batch of ours makes true. The key is taken before the work, so that no other process
   * does it meanwhile, and the answer is written before anybody gets it. A crash in between leaves the key free. Nothing is remembered of what
   * throws or gives undefined.
   * @param request.isSecret whether it is sealed, because it shows what is stored nowhere else
   */
  async answerOnce(
    accountId: string,
    idempotency: Idempotency,
    { isSecret, carryOut }: { isSecret: boolean; carryOut: () => Promise<unknown> },
  ): Promise<{ answer: unknown; replayed: boolean }> {
    const context = `idempotency ${JSON.stringify([accountId, idempotency.operation, idempotency.key])}`
    const done = await this.#once<Kept & { replayed: boolean }>(accountId, idempotency, async () => {
      await this.#take(accountId, idempotency)
      const answer = await carryOut().catch(async (error: unknown) => {
        await this.#free(accountId, idempotency)
        throw error
      })
      if (answer === undefined) await this.#free(accountId, idempotency)
      else await this.#settle(accountId, idempotency, isSecret ? { sealed: this.#seal(answer, context) } : { answer })
      return { answer, replayed: false }
    })
    return { answer: 'sealed' in done ? this.#opened(done.sealed, context) : done.answer, replayed: done.replayed }
  }

  /** Writes who does the work. What a process that is gone, or an earlier try of this one, has left is free. */
  async #take(accountId: string, idempotency: Idempotency): Promise<void> {
    const now = this.#clock.now()
    const taking: Statement = {
      sql: `insert into idempotency (account_id, operation, key, fingerprint, status, response, expires_at, owner)
            values (:accountId, :operation, :key, :fingerprint, 200, '', :expiresAt, :owner)
            on conflict (account_id, operation, key) do update
              set fingerprint = excluded.fingerprint, response = excluded.response, message_id = null,
                  expires_at = excluded.expires_at, owner = excluded.owner
              where idempotency.expires_at <= :now or idempotency.owner = :owner or idempotency.owner not in (select name from node)`,
      params: { accountId, ...idempotency, owner: this.#owner, now, expiresAt: now + keptMs },
      expect: 1,
    }
    await refusedAs(this.#db.write([taking]), ConflictError, concurrent)
  }

  async #settle(accountId: string, idempotency: Idempotency, answer: Kept): Promise<void> {
    const settling: Statement = {
      sql: `update idempotency set response = :response, owner = null, expires_at = :expiresAt
             where account_id = :accountId and operation = :operation and key = :key and owner = :owner`,
      params: {
        accountId,
        ...idempotency,
        owner: this.#owner,
        response: JSON.stringify(answer),
        expiresAt: this.#clock.now() + keptMs,
      },
      expect: 1,
    }
    await refusedAs(this.#db.write([settling]), ConflictError, concurrent)
  }

  async #free(accountId: string, idempotency: Idempotency): Promise<void> {
    await this.#db.write([
      {
        sql: 'delete from idempotency where account_id = :accountId and operation = :operation and key = :key and owner = :owner',
        params: { accountId, ...idempotency, owner: this.#owner },
      },
    ])
  }

  #seal(answer: unknown, context: string): string {
    return Buffer.from(this.#secrets.seal(Buffer.from(JSON.stringify(answer ?? null)), context)).toString('base64')
  }

  #opened(sealed: string, context: string): unknown {
    return JSON.parse(Buffer.from(this.#secrets.open(Buffer.from(sealed, 'base64'), context)).toString())
  }

  async #find(accountId: string, { operation, key, fingerprint }: Idempotency): Promise<IdempotencyRow | undefined> {
    const [row] = await this.#db.read<IdempotencyRow>(
      `select fingerprint, response, expires_at from idempotency
        where account_id = :accountId and operation = :operation and key = :key and owner is null`,
      { accountId, operation, key },
    )
    if (!row || row.expires_at <= this.#clock.now()) return undefined
    if (row.fingerprint === fingerprint) return row
    throw new SternaError(
      'invalid_idempotent_request',
      'This idempotency key was used for another request within the last 24 hours. Use a new key for a new request.',
    )
  }

  #remember(accountId: string, idempotency: Idempotency, answer: object, messageId: string | null): Statement {
    const now = this.#clock.now()
    return {
      sql: `insert into idempotency (account_id, operation, key, fingerprint, status, response, message_id, expires_at)
            values (:accountId, :operation, :key, :fingerprint, 200, :response, :messageId, :expiresAt)
            on conflict (account_id, operation, key) do update
              set fingerprint = excluded.fingerprint, response = excluded.response,
                  message_id = excluded.message_id, expires_at = excluded.expires_at
              where idempotency.expires_at <= :now`,
      params: { accountId, ...idempotency, response: JSON.stringify(answer), messageId, now, expiresAt: now + keptMs },
      expect: 1,
      guard: 'idempotency',
    }
  }
}

const concurrent = (cause?: unknown): SternaError =>
  new SternaError('concurrent_idempotent_requests', 'A request with this idempotency key is still running. Try again in a second.', {
    retryAfter: 1,
    cause,
  })
