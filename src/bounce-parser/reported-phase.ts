import type { RefusalPhase } from './refusal.ts'

/** `in reply to RCPT TO`, `after pipelined DATA`, `SMTP error, RCPT TO`. */
const at = String.raw`\b(?:in (?:reply|response) to|after|during|at|on|while sending|SMTP error,) (?:the )?(?:pipelined )?(?:initial )?`
/** A command in a dialogue. */
const sent = '(?:>>>|<<<|-->|sent:?|command:) '

/** How the mail systems that quote a dialogue name the command that was refused: Postfix, Exim, Sendmail, Courier, MDaemon, hMailServer, qmail, Yahoo, Coremail, Gmail by number. */
const phrases = (
  [
    [
      `${at}(?:sending )?(?:end of data|data block|message body)\\b|after (?:sending )?the message\\b`,
      String.raw`>>> \.(?=\s|$)|failed after I sent the message\b|after transfer of mail text\b|did not like our (?:final )?DATA\b|\[BODY\]|\(state 1[78]\)`,
      'dot',
    ],
    [
      `${at}DATA\\b`,
      String.raw`${sent}DATA\b|\bSMTP[: ](?:command )?DATA\b|for DATA command\b|failed on DATA command\b|\[DATA\]|\(state 15\)`,
      'data',
    ],
    [
      `${at}RCPT\\b`,
      String.raw`${sent}RCPT\b|\bSMTP[: ](?:command )?RCPT\b|for RCPT TO command\b|did not like our RCPT\b|does not like recipient\b|(?:address|recipient) was rejected by\b|` +
        String.raw`has rejected (?:the )?(?:address|recipient)\b|most progress was RCPT\b|\[RCPT[_ ]TO\]|\bMAIL\+RCPT\b|\bRCPT TO generated following response\b|\(state 14\)`,
      'rcpt',
    ],
    [
      `${at}(?:sending )?MAIL FROM\\b|in reply to (?:the )?MAIL\\b`,
      String.raw`${sent}MAIL\b|\bSMTP[: ](?:command )?MAIL\b|does not like sender\b|sender was rejected\b|most progress was MAIL\b|\[MAIL[_ ]FROM\]`,
      'mail',
    ],
    [`${at}(?:EHLO|HELO)\\b`, String.raw`${sent}(?:EHLO|HELO)\b|my name was rejected\b`, 'ehlo'],
    [
      'after initial connection\\b',
      String.raw`refused to talk to me\b|but greeting failed\b|most progress was (?:initial|greeting)\b|while talking to \S{1,255} <<<(?= )`,
      'banner',
    ],
  ] as const
).map(([named, shown, phase]): [RegExp, RefusalPhase] => [new RegExp(`${named}|${shown}`, 'gi'), phase])

/** Characters before and after a quoted reply in which its command is looked for. */
const nearby = 600

const singleSpaced = (text: string): string => text.replace(/\s+/g, ' ')

/** Characters of a report that are looked at; what follows is the message that came back. */
const longestText = 32 * 1024

/** What a report says for people, in the form that `reportedPhase` searches. */
export interface PhaseText {
  words: string
  /** The phase that all of it is about; `report` where it names several or none. */
  phase: RefusalPhase
}

/** Made once for all recipients of a report. */
export function phaseText(text: string): PhaseText {
  const words = singleSpaced(text.slice(0, longestText))
  return { words, phase: onlyOne(phasesIn(words)) }
}

function onlyOne(phases: readonly (RefusalPhase | undefined)[]): RefusalPhase {
  const [only = 'report', ...others] = new Set(phases.filter((phase) => phase !== undefined))
  return others.length === 0 ? only : 'report'
}

/**
 * At which phase the reply was given that a report quotes, where its words tell: a report names the command before the
 * reply, or behind it in brackets. `report` where they do not tell.
 * @param said the reply, as the report has it elsewhere
 */
export function reportedPhase({ words, phase }: PhaseText, said: string): RefusalPhase {
  const reply = singleSpaced(said)
  const own = phasesIn(reply).at(-1)
  if (own) return own
  const quoted = reply.slice(0, 60).trim()
  const places = quoted.length < 4 ? [] : placesOf(quoted, words)
  return places.length === 0 ? phase : onlyOne(places.map((place) => phaseAt(words, place, place + quoted.length)))
}

/** Places of a quoted reply that are looked at. */
const mostPlaces = 8

/** Where the quoted words occur in a report. */
function placesOf(quoted: string, words: string): number[] {
  const places: number[] = []
  for (let at = words.indexOf(quoted); at >= 0 && places.length < mostPlaces; at = words.indexOf(quoted, at + 1)) places.push(at)
  return places
}

function phaseAt(words: string, start: number, end: number): RefusalPhase | undefined {
  const behind = /^[^<>]{0,400}?(\(in reply to [^()]{1,80}\))/i.exec(words.slice(end, end + nearby))?.[1]
  // What stands behind another reply is not about this one.
  const ahead = words.slice(Math.max(0, start - nearby), start).replace(/\(in reply to [^()]{1,80}\)/gi, '')
  return phasesIn(behind ?? ahead).at(-1)
}

/** The phases that are named, in their order: a transcript has the command right before its reply. */
function phasesIn(words: string): RefusalPhase[] {
  const found = phrases.flatMap(([pattern, phase]) => Array.from(words.matchAll(pattern), ({ index }) => ({ phase, index })))
  return found.sort((one, other) => one.index - other.index).map(({ phase }) => phase)
}
