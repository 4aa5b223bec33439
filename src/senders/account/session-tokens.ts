import { digestOf } from './api-key-token.ts'

/** What a token was issued for. */
export interface IssuedToken {
  sessionId: string
  /** Null: that of the user. */
  accountId: string | null
  sandbox: boolean
  confined: boolean
  /** Epoch, ms. */
  expiresAt: number
}

/** Per session: each page open at the same time has one. */
const maxPerSession = 50

/** The tokens that sessions were exchanged for, as digests. A session has a bounded number of them, and its newest push out its oldest. */
export class SessionTokens {
  readonly #byDigest = new Map<string, IssuedToken>()
  /** Digests by session, oldest first. */
  readonly #ofSession = new Map<string, string[]>()

  add(token: string, issued: IssuedToken): void {
    const digest = digestOf(token)
    const own = this.#ofSession.get(issued.sessionId) ?? []
    if (own.length >= maxPerSession) this.#byDigest.delete(own.shift() ?? '')
    own.push(digest)
    this.#ofSession.set(issued.sessionId, own)
    this.#byDigest.set(digest, issued)
  }

  find(token: string): IssuedToken | undefined {
    return this.#byDigest.get(digestOf(token))
  }

  /** Drops those of a session that has ended. */
  endSession(sessionId: string): void {
    for (const digest of this.#ofSession.get(sessionId) ?? []) this.#byDigest.delete(digest)
    this.#ofSession.delete(sessionId)
  }
}
