import type { SmtpClient } from './smtp-client.ts'

/**
 * What programs have taken for the end of a message though it is not, or for part of it though it is the end
 * (CVE-2023-51764, -51765, -51766).
 */
export const inboundSequences = [
  '\n.\n',
  '\n.\r',
  '\n.\r\n',
  '\r.\n',
  '\r.\r',
  '\r.\r\n',
  '\r\n.\n',
  '\r\n.\r',
  '\r\n\n.\r\n',
  '\n..\n',
  '\n..\r\n',
  '\r\n..\n',
  '\r\n.\r\r\n',
  '\r\r\n.\r\r\n',
  '\r\r\n.\r\n',
  '\r\0\n.\r\n',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
]

export interface SmugglingAttempt {
  sequence: string
  place: 'body' | 'header'
  /** Where the bytes are split; null: they are sent in one piece. */
  cut: number | 'bytewise' | null
  /** Whom both messages are for. */
  to: string
}

const envelope = (name: string, to: string): string => `MAIL FROM:<${name}@example.com>\r\nRCPT TO:<${to}>\r\nDATA\r\n`
const message = (name: string, body: string): string => `From: ${name}@example.com\r\nSubject: ${name}\r\n\r\n${body}`

/** Sends a message `outer` with the sequence in it and a message `hidden` behind the sequence; the codes of the replies to their ends. */
export async function smuggle(client: SmtpClient, { sequence, place, cut, to }: SmugglingAttempt): Promise<number[]> {
  const hidden = envelope('hidden', to) + message('hidden', 'smuggled')
  const outer =
    place === 'body' ? message('outer', `a${sequence}${hidden}`) : `From: outer@example.com\r\nSubject: outer${sequence}${hidden}`
  const bytes = Buffer.from(`${envelope('outer', to)}${outer}\r\n.\r\nQUIT\r\n`, 'latin1')
  if (cut === 'bytewise') await client.writeBytewise(bytes)
  else if (cut !== null) await client.writeSplit(bytes, cut)
  else client.write(bytes)
  const codes = (await client.untilClosed())
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => Number(line.slice(0, 3)))
  client.close()
  return codes.slice(3)
}

/** The places in the bytes around which a cut could make a difference: from a little before the sequence to a little behind. */
export function cutsAround({ sequence, to }: Pick<SmugglingAttempt, 'sequence' | 'to'>): number[] {
  const start = (envelope('outer', to) + message('outer', 'a')).length
  return Array.from({ length: sequence.length + 8 }, (_, i) => start - 4 + i)
}

/** What must come of an attempt: the replies, and the subjects of the messages that are taken. */
export function wantedOutcome({ sequence, place }: Pick<SmugglingAttempt, 'sequence' | 'place'>): { codes: number[]; taken: string[] } {
  // The message ends there by RFC 5321 4.1.1.4, so what follows is an honest second one; the first is refused.
  if (sequence.includes('\r\n.\r\n')) return { codes: [550], taken: ['hidden'] }
  const isRefused = place === 'header' || /\r(?!\n)|(?<!\r)\n|\0/.test(sequence)
  return isRefused ? { codes: [550, 221], taken: [] } : { codes: [250, 221], taken: ['outer'] }
}

/** The same where line ends of any kind are taken as they come: the message has all the bytes up to its end. */
export const toleratedOutcome = (sequence: string): { codes: number[]; taken: string[] } =>
  sequence.includes('\r\n.\r\n') ? { codes: [250], taken: ['outer', 'hidden'] } : { codes: [250, 221], taken: ['outer'] }
