import { createSecureContext, type SecureContext } from 'node:tls'
import type { ChangeFollower, Changes } from '../store/changes.ts'
import type { Database, Row } from '../store/database.ts'
import { challengeCertificate, newKeyPair, pemOf } from './signing-request.ts'

const challengeTypes = ['http-01', 'tls-alpn-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

/** What proves to an authority that a name is ours, while it looks. */
interface Challenge {
  type: ChallengeType
  name: string
  token: string
  keyAuthorization: string
}

interface AnswerRow extends Row {
  type: ChallengeType
  name: string
  token: string
  key_authorization: string
}

interface AnswerServices {
  db: Pick<Database, 'read' | 'write'>
  changes: Changes
  clock: { now(): number }
}

/** The protocol that an authority asks for when it checks TLS-ALPN-01 (RFC 8737 4). */
export const acmeProtocol = 'acme-tls/1'

const kind = 'acme_answer'
/** An authority looks within minutes, ms. What a node that died has left goes then. */
const shownMs = 3_600_000

/** The challenges that are under way. Authorities may ask any node, so each answers for all. */
export class ChallengeAnswers implements ChangeFollower {
  readonly #services: AnswerServices
  /** By token. */
  readonly #texts = new Map<string, string>()
  readonly #contexts = new Map<string, { token: string; context: SecureContext }>()

  constructor(services: AnswerServices) {
    this.#services = services
    services.changes.on(kind, this)
  }

  async load(): Promise<void> {
    const rows = await this.#read(null)
    this.#texts.clear()
    this.#contexts.clear()
    for (const row of rows) await this.#take(row)
  }

  async reload(token: string): Promise<void> {
    const [row] = await this.#read(token)
    if (row) await this.#take(row)
    else this.#drop(token)
  }

  /** Answers the challenge, at every node once this resolves, until the returned function is called. */
  async show({ type, name, token, keyAuthorization }: Challenge): Promise<() => Promise<void>> {
    const { db, changes, clock } = this.#services
    const now = clock.now()
    await db.write([
      { sql: 'delete from acme_answer where expires_at <= :now', params: { now } },
      {
        sql: `insert into acme_answer (token, type, name, key_authorization, expires_at)
          values (:token, :type, :name, :keyAuthorization, :expiresAt)
          on conflict (token) do update set expires_at = excluded.expires_at`,
        params: { token, type, name, keyAuthorization, expiresAt: now + shownMs },
      },
      ...changes.note(kind, token),
    ])
    await this.reload(token)
    await changes.seenByAll()
    return async () => {
      await db.write([{ sql: 'delete from acme_answer where token = :token', params: { token } }, ...changes.note(kind, token)])
      this.#drop(token)
    }
  }

  /** The text for HTTP-01 (RFC 8555 8.3). */
  httpAnswer(token: string): string | undefined {
    return this.#texts.get(token)
  }

  /** The certificate for TLS-ALPN-01. */
  tlsAnswer(name: string): SecureContext | undefined {
    return this.#contexts.get(name.toLowerCase())?.context
  }

  #read(token: string | null): Promise<AnswerRow[]> {
    return this.#services.db.read<AnswerRow>(
      `select type, name, token, key_authorization from acme_answer
        where expires_at > :now and token = coalesce(:token, token) order by token`,
      { now: this.#services.clock.now(), token },
    )
  }

  async #take({ type, name, token, key_authorization: keyAuthorization }: AnswerRow): Promise<void> {
    if (type === 'http-01') return void this.#texts.set(token, keyAuthorization)
    const keys = await newKeyPair()
    const cert = challengeCertificate(name, keyAuthorization, { keys, now: this.#services.clock.now() })
    this.#contexts.set(name, { token, context: createSecureContext({ cert, key: pemOf(keys) }) })
  }

  #drop(token: string): void {
    this.#texts.delete(token)
    for (const [name, shown] of this.#contexts) if (shown.token === token) this.#contexts.delete(name)
  }
}
