import type { RefusalPhase } from '../bounce/refusal.ts'

/** How the mail systems that quote a dialogue name the command that was refused: Postfix, Exim, Sendmail, Courier, qmail, Yahoo. */
const phrases: [RegExp, RefusalPhase][] = [
  [
    /in reply to (?:the )?end of DATA\b|after (?:pipelined )?(?:sending )?(?:end of data|message body|the message)\b|>>> \.(?=\s|$)|failed after I sent the message\b|\[BODY\]/gi,
    'dot',
  ],
  [/in reply to (?:the )?DATA\b|after (?:pipelined )?(?:initial )?DATA\b|>>> DATA\b|failed on DATA command\b|\[DATA\]/gi, 'data'],
  [
    /in reply to (?:the )?RCPT\b|after (?:pipelined )?RCPT\b|>>> RCPT\b|does not like recipient\b|most progress was RCPT\b|\[RCPT[_ ]TO\]/gi,
    'rcpt',
  ],
  [
    /in reply to (?:the )?MAIL\b|after (?:pipelined )?(?:sending )?MAIL FROM\b|>>> MAIL\b|does not like sender\b|sender was rejected\b|most progress was MAIL\b|\[MAIL[_ ]FROM\]/gi,
    'mail',
  ],
  [/in reply to (?:the )?(?:EHLO|HELO)\b|after (?:EHLO|HELO)\b|>>> (?:EHLO|HELO)\b|my name was rejected\b/gi, 'ehlo'],
  [/refused to talk to me\b|after initial connection\b|but greeting failed\b|most progress was (?:initial|greeting)\b/gi, 'banner'],
]

/** Characters before and after a quoted reply in which its command is looked for. */
const nearby = 600

const singleSpaced = (text: string): string => text.replace(/\s+/g, ' ')

/** Characters of a report that are looked at; what follows is the message that came back. */
const longestText = 32 * 1024

/** The words of a report in the form that `reportedPhase` searches, made once for all of its recipients. */
export const phaseText = (text: string): string => singleSpaced(text.slice(0, longestText))

/**
 * At which phase the reply was given that a report quotes, where its words tell: a report names the command before the
 * reply, or behind it in brackets. `report` where they do not tell.
 * @param words what the report says for people, as `phaseText` gives it
 * @param said the reply, as the report has it elsewhere
 */
export function reportedPhase(words: string, said: string): RefusalPhase {
  const quoted = singleSpaced(said).slice(0, 60).trim()
  const place = quoted.length < 4 ? -1 : words.indexOf(quoted)
  const own = phaseIn(singleSpaced(said))
  if (own || place < 0) return own ?? 'report'
  const end = place + quoted.length
  const behind = /^[^<>]{0,400}?\((in reply to [^()]{1,80})\)/i.exec(words.slice(end, end + nearby))?.[1]
  const found = behind === undefined ? phaseIn(words.slice(Math.max(0, place - nearby), place)) : phaseIn(behind)
  return found ?? 'report'
}

/** The phrase that stands last, since a transcript has the command right before its reply. */
function phaseIn(words: string): RefusalPhase | null {
  let found: { phase: RefusalPhase; at: number } | null = null
  for (const [pattern, phase] of phrases) {
    for (const { index } of words.matchAll(pattern)) {
      if (!found || index > found.at) found = { phase, at: index }
    }
  }
  return found?.phase ?? null
}
