import { createHmac } from 'node:crypto'

/** How many seconds a code is valid for (RFC 6238 5.2). */
const stepSeconds = 30
const codeDigits = 6
const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** bytes, the output size of SHA-1 (RFC 4226 4, R6) */
export const totpSecretBytes = 20

/** The time step of `now` (epoch, ms). */
export const totpStepAt = (now: number): number => Math.floor(now / 1000 / stepSeconds)

/** The code of a time step (RFC 4226 5.3, with the step as the counter: RFC 6238 4). */
export function totpCode(secret: Uint8Array, step: number, digits = codeDigits): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0xf
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/**
 * The step that this code belongs to: the current one or a neighbour (RFC 6238 6), but later than `lastStep`, because a code is
 * accepted only once (RFC 6238 5.2). Null if there is none.
 */
export function matchingStep(secret: Uint8Array, code: string, { now, lastStep }: { now: number; lastStep: number }): number | null {
  const step = totpStepAt(now)
  return [step - 1, step, step + 1].find((near) => near > lastStep && totpCode(secret, near) === code) ?? null
}

/** What an authenticator app reads from a QR code. */
export function otpauthUri(secret: Uint8Array, { issuer, email }: { issuer: string; email: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${codeDigits}&period=${stepSeconds}`
}

/** RFC 4648 6, without padding. */
export function base32(bytes: Uint8Array): string {
  let [text, bits, value] = ['', 0, 0]
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += base32Digits[(value >>> (bits - 5)) & 31]
  }
  return bits > 0 ? text + base32Digits[(value << (5 - bits)) & 31] : text
}
