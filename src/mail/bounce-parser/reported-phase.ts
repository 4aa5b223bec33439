import type { RefusalPhase } from './refusal.ts'

/** `in reply to RCPT TO`, `after pipelined DATA`, `SMTP error, RCPT TO`. */
const at = String.raw`\b(?:in (?:reply|response) to|after|during|at|on|while sending|SMTP error,) (?:the )?(?:pipelined )?(?:initial )?`
/** A command in a dialogue. */
const sent = '(?:>>>|<<<|-->|sent:?|command:) '

/**
 * How mail systems that quote a dialogue name the refused command: Postfix, Exim, Sendmail, Courier, MDaemon, hMailServer, qmail, Yahoo,
 * Coremail; Gmail by number.
 */
const marks: [RefusalPhase, string][] = [
  ['dot', String.raw`${at}(?:sending )?(?:end of data|data block|message body)\b|after (?:sending )?the message\b|>>> \.(?=\s|$)`],
  [
    'dot',
    String.raw`failed after I sent the message\b|after transfer of mail text\b|did not like our (?:final )?DATA\b|\[BODY\]|\(state 1[78]\)`,
  ],
  ['data', String.raw`${at}DATA\b|${sent}DATA\b|\bSMTP[: ](?:command )?DATA\b|(?:for|failed on) DATA command\b|\[DATA\]|\(state 15\)`],
  [
    'rcpt',
    String.raw`${at}RCPT\b|${sent}RCPT\b|\bSMTP[: ](?:command )?RCPT\b|for RCPT TO command\b|did not like our RCPT\b|\[RCPT[_ ]TO\]`,
  ],
  ['rcpt', String.raw`(?:address|recipient) was rejected by\b|has rejected (?:the )?(?:address|recipient)\b|does not like recipient\b`],
  ['rcpt', String.raw`most progress was RCPT\b|\bMAIL\+RCPT\b|\bRCPT TO generated following response\b|\(state 14\)`],
  ['mail', String.raw`${at}(?:sending )?MAIL FROM\b|in reply to (?:the )?MAIL\b|${sent}MAIL\b|\bSMTP[: ](?:command )?MAIL\b`],
  ['mail', String.raw`does not like sender\b|sender was rejected\b|most progress was MAIL\b|\[MAIL[_ ]FROM\]`],
  ['ehlo', String.raw`${at}(?:EHLO|HELO)\b|${sent}(?:EHLO|HELO)\b|my name was rejected\b`],
  ['banner', String.raw`after initial connection\b|refused to talk to me\b|but greeting failed\b|most progress was (?:initial|greeting)\b`],
  ['banner', String.raw`while talking to \S{1,255} <<<(?= )`],
]
const anyMark = new RegExp(marks.map(([, source]) => `(${source})`).join('|'), 'gi')

/** The phases named, in order. In a transcript the command is right before its reply. */
const phasesIn = (words: string): RefusalPhase[] =>
  Array.from(words.matchAll(anyMark), ([, ...found]) => marks[found.findIndex((mark) => mark !== undefined)]?.[0] ?? 'report')

/** The phase if there is exactly one, else `report`. */
function onlyOne(phases: Iterable<RefusalPhase>): RefusalPhase {
  const [only = 'report', ...others] = new Set(phases)
  return others.length === 0 ? only : 'report'
}

const singleSpaced = (text: string): string => text.replace(/\s+/g, ' ')

/** Characters around a quoted reply searched for its command. */
const nearby = 600
/** Occurrences of a quoted reply that are examined. */
const maxPlaces = 8
/** Characters of a bounce examined. The original follows. */
const maxTextLength = 32 * 1024

/** Searches a bounce's text for the phases of quoted refusals. */
export class PhaseText {
  readonly #words: string
  readonly #phase: RefusalPhase

  constructor(text: string) {
    this.#words = singleSpaced(text.slice(0, maxTextLength))
    this.#phase = onlyOne(phasesIn(this.#words))
  }

  /**
   * The phase of a quoted reply: the text names the command before the reply, or after it in brackets. `report` if it does not say.
   * @param said the reply as another part of the bounce quotes it
   */
  of(said: string): RefusalPhase {
    const reply = singleSpaced(said)
    const own = phasesIn(reply).at(-1)
    if (own) return own
    const quoted = reply.slice(0, 60).trim()
    const places: number[] = []
    for (let place = this.#words.indexOf(quoted); place >= 0 && places.length < maxPlaces; place = this.#words.indexOf(quoted, place + 1))
      places.push(place)
    if (quoted.length < 4 || places.length === 0) return this.#phase
    const phases = places.map((place) => this.#phaseAround(place, place + quoted.length))
    return onlyOne(phases.filter((phase) => phase !== undefined))
  }

  #phaseAround(start: number, end: number): RefusalPhase | undefined {
    const behind = /^[^<>]{0,400}?(\(in reply to [^()]{1,80}\))/i.exec(this.#words.slice(end, end + nearby))?.[1]
    const ahead = this.#words.slice(Math.max(0, start - nearby), start)
    // An `(in reply to …)` before the quote belongs to an earlier reply, unless there is none.
    const [, introduction] = /^(?:(?!\b[245]\d\d[ -]).)*(\(in reply to [^()]{1,80}\))\W{0,6}$/i.exec(ahead) ?? []
    return phasesIn(behind ?? introduction ?? ahead.replace(/\(in reply to [^()]{1,80}\)/gi, '')).at(-1)
  }
}
