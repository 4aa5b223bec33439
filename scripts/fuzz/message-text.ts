import { ReturnedMessage } from '../../src/mail/bounce-parser/returned-message.ts'
import { bounceVocabulary } from '../../src/mail/bounce-vocabulary.ts'

/** What parts one part of a message from the next in an input. */
const between = '\n%%%%\n'

/** A message that came back as one text, which may be changed anywhere: its header, then its parts, each after its type. */
export function textOfMessage({ headers, parts }: ReturnedMessage): string {
  const header = headers.map(({ name, value }) => `${name}:${value}`).join('\n')
  return [header, ...parts.map(({ contentType, content }) => `${contentType}\n${content}`)].join(between)
}

/** The message of any text at all, with what `readReturnedMessage` promises of one: names in lower case, bounded parts. */
export function messageOfText(text: string): ReturnedMessage {
  const [header = '', ...parts] = text.split(between)
  const headers = header.split('\n').map((line) => {
    const colon = line.indexOf(':')
    return { name: line.slice(0, Math.max(0, colon)).toLowerCase(), value: line.slice(colon + 1).trim() }
  })
  const leaves = parts.slice(0, 64).map((part) => {
    const end = part.indexOf('\n')
    return { contentType: part.slice(0, Math.max(0, end)).toLowerCase().slice(0, 200), content: part.slice(end + 1) }
  })
  return new ReturnedMessage(headers, leaves, bounceVocabulary())
}
