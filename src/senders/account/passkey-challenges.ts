import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { derivedFrom, readByAny } from '../../platform/key-generations.ts'
import type { Statement } from '../../platform/store/database.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import type { Secrets } from './key-file.ts'

const challengeMs = 5 * minuteMs
const nonceBytes = 16
const timeBytes = 6

/**
 * Challenges for passkeys (WebAuthn 13.4.3). Each is for one browser, works once, and for five minutes. A challenge carries its own proof, so
 * those who ask for many fill nothing; only what was answered rightly is kept, for all nodes.
 */
export class PasskeyChallenges {
  readonly #clock: Clock
  readonly #keys: () => readonly [Buffer, ...Buffer[]]

  constructor({ clock, secrets }: { clock: Clock; secrets: Pick<Secrets, 'generations'> }) {
    this.#clock = clock
    this.#keys = derivedFrom(secrets, (deriveKey) => deriveKey('passkey challenge'))
  }

  /** @param browser what only this browser knows, and what the challenge is for */
  issue(browser: string): string {
    const head = Buffer.concat([randomBytes(nonceBytes), Buffer.alloc(timeBytes)])
    head.writeUIntBE(this.#clock.now() + challengeMs, nonceBytes, timeBytes)
    return Buffer.concat([head, macOf(this.#keys()[0], head, browser)]).toString('base64url')
  }

  /** True if it was issued for this browser and has not expired. */
  isFor(browser: string, challenge: string): boolean {
    const { head, mac } = partsOf(challenge)
    const isBy = (key: Buffer): boolean => {
      const expected = macOf(key, head, browser)
      return mac.length === expected.length && timingSafeEqual(mac, expected)
    }
    return readByAny(this.#keys(), (key) => isBy(key) || null) === true && this.#clock.now() < expiryOf(head)
  }

  /** Uses up a challenge that `isFor` has found right. In the batch of what it allows; the guard `challenge` refuses that if it was used before. */
  useUp(challenge: string): Statement[] {
    const { head } = partsOf(challenge)
    return [
      { sql: 'delete from used_challenge where expires_at <= :now', params: { now: this.#clock.now() } },
      {
        sql: 'insert into used_challenge (id, expires_at) values (:id, :expiresAt) on conflict (id) do nothing',
        params: { id: head.toString('base64url'), expiresAt: expiryOf(head) },
        expect: 1,
        guard: 'challenge',
      },
    ]
  }
}

const macOf = (key: Buffer, head: Uint8Array, browser: string): Buffer => createHmac('sha256', key).update(head).update(browser).digest()

function partsOf(challenge: string): { head: Buffer; mac: Buffer } {
  const bytes = Buffer.from(challenge, 'base64url')
  return { head: bytes.subarray(0, nonceBytes + timeBytes), mac: bytes.subarray(nonceBytes + timeBytes) }
}

/** Epoch, ms. */
const expiryOf = (head: Buffer): number => head.readUIntBE(nonceBytes, timeBytes)
