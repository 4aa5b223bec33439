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
  readonly #running = new Set<string>()

  constructor(services: { db: Database; clock: Clock; secrets: Sealing }) {
    this.#db = services.db
    this.#clock = services.clock
    this.#secrets = services.secrets
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
   * The same for anything else that is asked for. The answer is written when what it tells of has been done, before anybody gets it: a
   * crash in between leaves the key unused. Nothing is remembered of what throws or gives undefined.
   * @param request.isSecret whether it is sealed, because it shows what is stored nowhere else
   */
  async answerOnce(
    accountId: string,
    idempotency: Idempotency,
    { isSecret, carryOut }: { isSecret: boolean; carryOut: () => Promise<unknown> },
  ): Promise<{ answer: unknown; replayed: boolean }> {
    const context = `idempotency ${JSON.stringify([accountId, idempotency.operation, idempotency.key])}`
    const done = await this.#once<Kept & { replayed: boolean }>(accountId, idempotency, async (remember) => {
      const answer = await carryOut()
      const kept: Kept = isSecret ? { sealed: this.#seal(answer, context) } : { answer }
      if (answer !== undefined) await refusedAs(this.#db.write([remember(kept, null)]), ConflictError, concurrent)
      return { answer, replayed: false }
    })
    return { answer: 'sealed' in done ? this.#opened(done.sealed, context) : done.answer, replayed: done.replayed }
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
        where account_id = :accountId and operation = :operation and key = :key`,
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
