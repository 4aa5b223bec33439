import { compareClock } from '../clock-watch.ts'
import { isoTime } from '../iso-time.ts'
import { type Finding, sayOf } from './finding.ts'

/** How many seconds the clock may be off before something breaks. */
const [tolerable, bad] = [2, 60]

/** @param offset of our clock from the time server's, ms, ahead is positive; null if it gave no answer */
export function judgeClock(server: string | null, offset: number | null): Finding {
  const say = sayOf('clock')
  if (server === null)
    return say.skipped(
      'No time server is configured to compare the clock with.',
      'Set doctor.ntp_server, and keep the clock synchronised by NTP in any case.',
    )
  if (offset === null)
    return say.skipped(`${server} gave no answer.`, 'Set doctor.ntp_server to a time server that is reachable on UDP port 123.')
  const seconds = Math.abs(offset) / 1000
  if (seconds <= tolerable) return say.ok(`The clock agrees with ${server}.`)
  const what = `The clock is ${seconds.toFixed(1)} s ${offset > 0 ? 'ahead of' : 'behind'} ${server}.`
  const advice = 'Run a time service such as chrony or systemd-timesyncd: signatures, retries and one-time codes depend on the clock.'
  return seconds > bad ? say.failed(what, advice) : say.warning(what, advice)
}

/**
 * Has a finding only if the clock is behind the newest event.
 * @param newest the newest time in the database, epoch ms; null if there is none
 */
export function judgeClockAgainstLog(newest: number | null, now: number): Finding[] {
  if (newest === null || compareClock(newest, now) !== 'behind') return []
  const what = `The clock says ${isoTime(now)}, but the newest event in the database is from ${isoTime(newest)}.`
  const advice =
    'Correct the clock with NTP. If it is correct now, it was ahead before: records written then have wrong dates, and mail ' +
    'scheduled then waits for its date.'
  return [sayOf('clock').warning(what, advice)]
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
