const commandVerb = /^(?:EHLO|HELO|STARTTLS|AUTH|MAIL FROM|RCPT TO|DATA|BDAT|QUIT|RSET|NOOP)\b/i
const reply = /^([1-5])\d\d(?:[ -]|$)/
/** A timestamp or similar, and the speaker: `--> RCPT`, `<<< 550`, `C: RCPT`, `SMTP<< 550`, `Sent: RCPT`, `Command: RCPT`. */
const direction =
  /^.{0,60}?(?:^|[\s:\])>*|])(?:(?:SMTP ?)?(?:-{1,3}>{1,2}|={1,3}>|<{1,2}-{1,3}|<={1,3}|>{1,3}|<{1,3})|(?:sent|send|received|recv|client|server|command|response|[CS])\s?:)\s{0,4}/i

type Spoken = { kind: 'command' | 'reply'; text: string } | null

function spokenIn(line: string): Spoken {
  const text = line.slice(direction.exec(line)?.[0].length ?? line.length).trim()
  if (commandVerb.test(text)) return { kind: 'command', text }
  return reply.test(text) ? { kind: 'reply', text } : null
}

/**
 * Reduces an appended SMTP dialogue to what was refused, in Sendmail's form: `>>> RCPT To:<a@b.example>` and its `<<< 550 …`. The rest
 * (banners, host names, commands that succeeded) would be mistaken for the reason. A refusal after a 354 is about the message. Sendmail's
 * own words after a refusal are dropped as well, because it says `550 5.1.1 … User unknown` after every 550.
 */
export function withRefusedDialogue(lines: string[]): string[] {
  const spoken = lines.map(spokenIn)
  const kinds = new Set(spoken.map((each) => each?.kind))
  if (!kinds.has('command') || !kinds.has('reply')) return lines
  let command: string | null = null
  let isEcho = false
  return lines.flatMap((line, index) => {
    const said = spoken[index]
    const before = spoken[index - 1]
    const isBehindRefusal = before?.kind === 'reply' && /^[45]/.test(before.text)
    // The system repeats the refusal: a line per recipient, then lines without an address.
    isEcho = !said && reply.test(line) && (isBehindRefusal || (isEcho && !line.includes('@')))
    if (!said) return isEcho ? [] : [line]
    if (said.kind === 'command') {
      command = said.text
      return []
    }
    const [, digit = ''] = reply.exec(said.text) ?? []
    if (digit < '4') {
      command = digit === '3' && /^(?:DATA|BDAT)/i.test(command ?? '') ? '.' : null
      return []
    }
    const refused = command === null ? [] : [`>>> ${command}`]
    // More lines of the same reply.
    command = null
    return [...refused, `<<< ${said.text}`]
  })
}

/** True for the lines that `withRefusedDialogue` keeps of a dialogue. */
export const isDialogue = (line: string): boolean => /^(?:>>>|<<<) /.test(line)
