import { seededRandom } from '../../scripts/campaign/seeded-random.ts'

export const replyPhases = ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'dot'] as const
export type ReplyPhase = (typeof replyPhases)[number]

/** A reply as hosts write it, and as they should not. */
export interface MadeReply {
  phase: ReplyPhase
  form: string
  bytes: string
  /** Of its last line; null if no line has three digits that no digit follows, or the last one never comes. */
  code: number | null
  /** True if the host then closes the connection. */
  closes: boolean
  /** True if the host offers PIPELINING. */
  pipelining: boolean
}

const wanted: Record<ReplyPhase, number> = { banner: 220, ehlo: 250, mail: 250, rcpt: 250, data: 354, dot: 250 }
const refusals = [421, 450, 451, 452, 454, 500, 501, 502, 503, 504, 521, 530, 550, 551, 552, 553, 554, 555, 556]
const others = [100, 150, 199, 220, 250, 251, 299, 300, 354, 399, 600, 799, 999]

interface Form {
  name: string
  write(code: number, text: string, pick: (below: number) => number): string
  hasNoCode?: true
  isCutShort?: true
}

const forms: Form[] = [
  { name: 'one line', write: (code, text) => `${code} ${text}\r\n` },
  { name: 'one line', write: (code, text) => `${code} ${text}\r\n` },
  { name: 'no text', write: (code) => `${code}\r\n` },
  { name: 'a bare line feed', write: (code, text) => `${code} ${text}\n` },
  { name: 'no space', write: (code) => `${code}OK\r\n` },
  { name: 'a colon', write: (code, text) => `${code}:${text}\r\n` },
  { name: 'a tab', write: (code, text) => `${code}\t${text}\r\n` },
  { name: 'a leading space', write: (code, text) => ` ${code} ${text}\r\n` },
  { name: 'an empty first line', write: (code, text) => `\r\n${code} ${text}\r\n` },
  { name: 'several lines', write: (code, text, pick) => `${`${code}-${text}\r\n`.repeat(1 + pick(9))}${code} ${text}\r\n` },
  { name: 'hundreds of lines', write: (code, text, pick) => `${`${code}-line\r\n`.repeat(490 + pick(200))}${code} ${text}\r\n` },
  { name: 'another code of the class first', write: (code, text) => `${code - 1}-first\r\n${code} ${text}\r\n` },
  { name: '250 first', write: (code, text) => `250-first\r\n${code} ${text}\r\n` },
  { name: '550 first', write: (code, text) => `550-first\r\n${code} ${text}\r\n` },
  { name: 'a line without a code in the middle', write: (code, text) => `${code}-first\r\nsee our pages\r\n${code} ${text}\r\n` },
  { name: 'a line without a code first', write: (code, text) => `Hello there\r\n${code} ${text}\r\n` },
  { name: 'a line of 5,000 characters', write: (code) => `${code} ${'x'.repeat(5000)}\r\n` },
  { name: '70 KB', write: (code, _, pick) => `${`${code}-${'y'.repeat(700 + pick(300))}\r\n`.repeat(90)}${code} end\r\n` },
  { name: 'control characters', write: (code, text) => `${code} \0\x01\x1b[1m${text}\r\n` },
  { name: '8-bit text', write: (code) => `${code} Größe, 大きさ\r\n` },
  { name: 'four digits', write: (code, text) => `${code}0 ${text}\r\n`, hasNoCode: true },
  { name: 'two digits', write: (code, text) => `${Math.floor(code / 10)} ${text}\r\n`, hasNoCode: true },
  { name: 'words', write: (_, text) => `OK ${text}\r\n`, hasNoCode: true },
  { name: 'a last line that never comes', write: (code, text) => `${code}-${text}\r\n`, isCutShort: true },
]

const texts = ['', 'Ok', '2.0.0 Ok', 'queued as 4BfX1s0z', 'what you see here is what a host may say', 'a-b-c', '250 twice']

/** `count` replies for each phase; the same for the same seed. */
export function madeReplies(count: number, seed: number): MadeReply[] {
  const random = seededRandom(seed)
  const pick = (below: number): number => Math.floor(random() * below)
  const one = <T>(from: readonly T[]): T => from[pick(from.length)] as T
  const codeFor = (phase: ReplyPhase): number => [wanted[phase], wanted[phase], one(refusals), one(refusals), one(others)][pick(5)] ?? 250
  const make = (phase: ReplyPhase, i: number): MadeReply => {
    const { name, write, hasNoCode = false, isCutShort = false } = forms[i % forms.length] as Form
    const code = codeFor(phase)
    return {
      phase,
      form: name,
      bytes: write(code, one(texts), pick),
      code: hasNoCode || isCutShort ? null : code,
      // Whoever waits for the last line would wait for minutes.
      closes: isCutShort || pick(4) === 0,
      pipelining: pick(2) === 0,
    }
  }
  return replyPhases.flatMap((phase) => Array.from({ length: count }, (_, i) => make(phase, i)))
}

/** Forms whose code only a generous reader sees. */
export const oddForms = new Set(['no space', 'a colon', 'a tab', 'a leading space'])

/**
 * The replies that the tests try: a few for each phase, or `STERNA_REPLIES` of them. Of the few, nobody waits for those that a strict
 * reader or any does not understand: the connection ends with them.
 */
export function chosenReplies(few: number, reader: 'strict' | 'generous'): MadeReply[] {
  const count = process.env['STERNA_REPLIES']
  const replies = madeReplies(Number(count ?? few), 27)
  const isUnderstood = (reply: MadeReply): boolean => isDecisiveAt(reply) && (reader === 'generous' || !oddForms.has(reply.form))
  return count ? replies : replies.map((reply) => ({ ...reply, closes: reply.closes || !isUnderstood(reply) }))
}

/** True of a code that decides what becomes of the message, at this phase. */
const isDecisiveAt = ({ phase, code }: MadeReply): boolean =>
  code !== null && (phase !== 'dot' || (code >= 200 && code < 300) || (code >= 400 && code < 600))
