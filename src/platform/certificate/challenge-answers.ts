import { createSecureContext, type SecureContext } from 'node:tls'
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

/** The protocol that an authority asks for when it checks TLS-ALPN-01 (RFC 8737 4). */
export const acmeProtocol = 'acme-tls/1'

/** The challenges that are under way; the HTTP ports answer from here. */
export class ChallengeAnswers {
  readonly #byToken = new Map<string, string>()
  readonly #byName = new Map<string, SecureContext>()

  /** Answers the challenge until the returned function is called. */
  async show({ type, name, token, keyAuthorization }: Challenge, now: number): Promise<() => void> {
    if (type === 'http-01') {
      this.#byToken.set(token, keyAuthorization)
      return () => void this.#byToken.delete(token)
    }
    const keys = await newKeyPair()
    const cert = challengeCertificate(name, keyAuthorization, { keys, now })
    this.#byName.set(name, createSecureContext({ cert, key: pemOf(keys) }))
    return () => void this.#byName.delete(name)
  }

  /** The text for HTTP-01 (RFC 8555 8.3). */
  httpAnswer(token: string): string | undefined {
    return this.#byToken.get(token)
  }

  /** The certificate for TLS-ALPN-01. */
  tlsAnswer(name: string): SecureContext | undefined {
    return this.#byName.get(name.toLowerCase())
  }
}
