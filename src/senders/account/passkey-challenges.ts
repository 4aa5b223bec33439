import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { lastUsed } from '../../platform/last-used.ts'
import type { Clock } from '../../platform/clock.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { Secrets } from './key-file.ts'

const challengeMs = 5 * minuteMs
const nonceBytes = 16
const timeBytes = 6
/** More than anybody can use up within five minutes under the limit on logins. */
const maxUsed = 10_000

/**
 * Challenges for passkeys (WebAuthn 13.4.3). Each is for one browser, works once, and for five minutes. A challenge carries its own proof, so
 * those who ask for many fill nothing.
 */
export class PasskeyChallenges {
  readonly #clock: Clock
  readonly #key: Buffer
  readonly #used = lastUsed<true>(maxUsed)

  constructor({ clock, secrets }: { clock: Clock; secrets: Pick<Secrets, 'deriveKey'> }) {
    this.#clock = clock
    this.#key = secrets.deriveKey('passkey challenge')
  }

  /** @param browser what only this browser knows, and what the challenge is for */
  issue(browser: string): string {
    const head = Buffer.concat([randomBytes(nonceBytes), Buffer.alloc(timeBytes)])
    head.writeUIntBE(this.#clock.now() + challengeMs, nonceBytes, timeBytes)
    return Buffer.concat([head, this.#macOf(head, browser)]).toString('base64url')
  }

  /** Uses a challenge up. True if it was issued for this browser, has not expired, and was not used before. */
  take(challenge: string, browser: string): boolean {
    const bytes = Buffer.from(challenge, 'base64url')
    const head = bytes.subarray(0, nonceBytes + timeBytes)
    const mac = this.#macOf(head, browser)
    if (bytes.length !== head.length + mac.length || !timingSafeEqual(bytes.subarray(head.length), mac)) return false
    if (this.#clock.now() >= head.readUIntBE(nonceBytes, timeBytes)) return false
    const name = bytes.toString('base64url')
    if (this.#used.has(name)) return false
    this.#used.set(name, true)
    return true
  }

  #macOf(head: Uint8Array, browser: string): Buffer {
    return createHmac('sha256', this.#key).update(head).update(browser).digest()
  }
}
