import type { RefusalPhase } from '../../mail/bounce-parser/refusal.ts'

/** As an attempt stores it: see `TranscriptLine`. */
type Line = [ms: number, side: 'c' | 's', line: string]

const phaseOfCommand: Record<string, RefusalPhase> = {
  EHLO: 'ehlo',
  HELO: 'ehlo',
  AUTH: 'ehlo',
  STARTTLS: 'starttls',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
}
/** The remark that names the host of a new connection, or of one that is used again. */
const connected = /^\(\S+ \S+:\d+(?: from \S+?)?(, connection reused)?\)$/

/**
 * What the decisive reply of an attempt answered; null if the transcript does not show it. Commands may be sent ahead of replies, which come
 * in their order.
 * @param transcript JSON, as it is stored
 * @param reply as it is stored: the code, and the lines joined by spaces
 */
export function phaseInTranscript(transcript: string, reply: string): RefusalPhase | null {
  let waiting: (RefusalPhase | null)[] = []
  for (const [, side, line] of JSON.parse(transcript) as Line[]) {
    if (side === 's') {
      const phase = waiting[0] ?? null
      if (phase !== null && isBeginningOf(reply, line)) return phase
      if (line.charAt(codeLength) !== '-') waiting.shift()
      continue
    }
    const connection = connected.exec(line)
    if (connection) waiting = connection[1] === undefined ? ['banner'] : []
    else if (/^\(\d+ bytes\)$/.test(line)) waiting.push('dot')
    else if (!line.startsWith('(')) waiting.push(phaseOfCommand[line.split(/[ :]/, 1)[0] ?? ''] ?? null)
  }
  return null
}

const codeLength = 3

/** True if this is the first line of the reply, perhaps cut off. */
const isBeginningOf = (reply: string, line: string): boolean =>
  reply.startsWith(`${line.slice(0, codeLength)} ${line.slice(codeLength + 1)}`.trimEnd())
