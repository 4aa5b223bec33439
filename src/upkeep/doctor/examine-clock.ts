import { compareClock } from '../../platform/clock-watch.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { type Finding, sayOf } from './finding.ts'

/** How many seconds the clock may be off before something breaks. */
const [tolerable, bad] = [2, 60]

/** @param offset of our clock from the time server's, ms, ahead is positive; null if it gave no answer */
export function judgeClock(server: string | null, offset: number | null): Finding {
  const say = sayOf('clock')
  if (server === null) return say.skipped('clock_not_compared')
  if (offset === null) return say.skipped('clock_server_silent', { server })
  const seconds = Math.round(Math.abs(offset) / 100) / 10
  if (seconds <= tolerable) return say.ok('clock_fine', { server })
  return say[seconds > bad ? 'failed' : 'warning'](offset > 0 ? 'clock_ahead' : 'clock_behind', { server, seconds })
}

/**
 * Has a finding only if the clock is behind the newest event.
 * @param newest the newest time in the database, epoch ms; null if there is none
 */
export function judgeClockAgainstLog(newest: number | null, now: number): Finding[] {
  if (newest === null || compareClock(newest, now) !== 'behind') return []
  return [sayOf('clock').warning('clock_behind_log', { now: isoTime(now), newest: isoTime(newest) })]
}

/** Seconds between 1900, where NTP begins, and 1970. */
const ntpEpoch = 2_208_988_800

/** An NTP request (RFC 4330 5): version 4, mode client. */
export const sntpRequest = (): Buffer => Buffer.concat([Buffer.from([0b00_100_011]), Buffer.alloc(47)])

/**
 * How far our clock is ahead, ms, according to the server's answer (RFC 4330 5); null if the answer is invalid or the server does not
 * know the time.
 * @param sentAt and receivedAt epoch, ms, by our clock
 */
export function offsetIn(reply: Buffer, sentAt: number, receivedAt: number): number | null {
  if (reply.length < 48) return null
  const [flags = 0, stratum = 0] = reply
  if ((flags & 7) !== 4 || flags >> 6 === 3 || stratum === 0 || stratum > 15) return null
  const there = timeAt(reply, 32) + timeAt(reply, 40)
  return (sentAt + receivedAt - there) / 2
}

function timeAt(reply: Buffer, at: number): number {
  const seconds = reply.readUInt32BE(at)
  // The first era ends in 2036; earlier than 1968 means the second era (RFC 4330 3).
  const whole = seconds < 2 ** 31 ? seconds + 2 ** 32 : seconds
  return (whole - ntpEpoch) * 1000 + (reply.readUInt32BE(at + 4) / 2 ** 32) * 1000
}
