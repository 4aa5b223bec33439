import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import type { Idempotency } from '../message/submission.ts'
import { ConflictError, type Database, type Row, type Statement } from '../store/database.ts'

/** How long a key is remembered, ms. */
const keptMs = 24 * 3_600_000

/**
 * The statement that remembers an answer under its key, for the batch that makes the answer true.
 * `messageId` is null where the answer is about several messages.
 */
export type Remember = (answer: object, messageId: string | null) => Statement

interface IdempotencyRow extends Row {
  fingerprint: string
  response: string
  expires_at: number
}

/**
 * Makes a submission with an idempotency key happen once. The key is written in the same batch as the message, so
 * neither a crash nor two submissions at the same moment can leave one without the other.
 */
export class IdempotencyKeys {
  readonly #db: Database
  readonly #clock: Clock
  readonly #running = new Set<string>()

  constructor(services: { db: Database; clock: Clock }) {
    this.#db = services.db
    this.#clock = services.clock
  }

  /**
   * Runs `submit` unless the key has an answer already, which is given again with `replayed: true`.
   * @throws SternaError `invalid_idempotent_request` where the key was used for another submission,
   *   `concurrent_idempotent_requests` while the first one with this key is under way
   */
  async once<T extends { replayed: boolean }>(
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
    } catch (error) {
      if (error instanceof ConflictError && error.guard === 'idempotency') throw concurrent()
      throw error
    } finally {
      this.#running.delete(place)
    }
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

const concurrent = (): SternaError =>
  new SternaError('concurrent_idempotent_requests', 'A request with this idempotency key is still running. Try again in a second.', {
    retryAfter: 1,
  })
