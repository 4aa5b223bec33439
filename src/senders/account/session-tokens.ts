import { createHmac, timingSafeEqual } from 'node:crypto'
import { derivedFrom, readByAny } from '../../platform/key-generations.ts'
import type { Secrets } from './key-file.ts'

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

const prefix = 'sterna_session_'
const form = new RegExp(`^(${prefix}(\\w+)\\.(\\w*)\\.([01])([01])\\.(\\w{1,11}))\\.([\\w-]{43})$`)

/**
 * The tokens that sessions are exchanged for. A token says what it was issued for, with a MAC, so nothing is stored, and every node knows it.
 * It is over with its session.
 */
export class SessionTokens {
  readonly #keys: () => readonly [Buffer, ...Buffer[]]

  constructor(secrets: Pick<Secrets, 'generations'>) {
    this.#keys = derivedFrom(secrets, (deriveKey) => deriveKey('session token'))
  }

  issue({ sessionId, accountId, sandbox, confined, expiresAt }: IssuedToken): string {
    const head = `${prefix}${sessionId}.${accountId ?? ''}.${Number(sandbox)}${Number(confined)}.${expiresAt.toString(36)}`
    return `${head}.${macOf(this.#keys()[0], head).toString('base64url')}`
  }

  isOne(token: string): boolean {
    return token.startsWith(prefix)
  }

  /** Null if it is not ours. */
  read(token: string): IssuedToken | null {
    const [, head, sessionId = '', accountId = '', sandbox, confined, time = '', mac = ''] = form.exec(token) ?? []
    if (head === undefined) return null
    const claimed = Buffer.from(mac, 'base64url')
    if (!readByAny(this.#keys(), (key) => timingSafeEqual(claimed, macOf(key, head)) || null)) return null
    return {
      sessionId,
      accountId: accountId === '' ? null : accountId,
      sandbox: sandbox === '1',
      confined: confined === '1',
      expiresAt: Number.parseInt(time, 36),
    }
  }
}

const macOf = (key: Buffer, head: string): Buffer => createHmac('sha256', key).update(head).digest()
