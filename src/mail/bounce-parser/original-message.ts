import { fieldsIn } from './fields.ts'
import { reportedAddress } from './reported-address.ts'
import { valuesOf, type HeaderField, type ReturnedMessage } from './returned-message.ts'

/** What a bounce still shows of the original message; null where it shows nothing. */
export interface OriginalMessage {
  /** Its `X-Sterna-Ref`. */
  reference: string | null
  /** The `mailto` address in its `List-Unsubscribe`. */
  unsubscribe: string | null
  /** Its `Return-Path`, without angle brackets. */
  reversePath: string | null
  /** With angle brackets. */
  messageId: string | null
  /** The returned part of its header. */
  headers: HeaderField[]
}

const messageTypes = /^(?:message\/(?:rfc822|global|partial|rfc822-headers|global-headers)|text\/(?:rfc822|rfc822-headers|global-headers))$/
/** Fields of a message's header. The lines of a bounce's own text seldom start with one. */
const usualField = /^(?:return-path|received|message-id|dkim-signature|from|to|subject|date|mime-version|x-[a-z0-9-]{1,60}):[ \t]/gim
const emptyLine = /\n[ \t]*\n/

/** The returned original, with its header if it has one. */
export function originalMessage(message: ReturnedMessage): OriginalMessage {
  const text = message.part(messageTypes)?.content ?? textOriginal(message.part(/^text\/plain$/)?.content ?? '')
  const headers = fieldsIn(text.replace(/^\n+/, '').split(emptyLine, 1)[0] ?? '')
  const value = (name: string): string | null => valuesOf(headers, name)[0] || null
  return {
    reference: value('x-sterna-ref'),
    unsubscribe: /<mailto:([^?>]{1,320})/i.exec(value('list-unsubscribe') ?? '')?.[1] ?? null,
    reversePath: reportedAddress(value('return-path') ?? ''),
    messageId: value('message-id'),
    headers,
  }
}

/**
 * The original's header within a bounce that is a single text: the first paragraph that looks like a header, because bounces also quote To
 * and Subject alone. Otherwise what follows its first field.
 */
function textOriginal(text: string): string {
  const header = text.split(emptyLine).find((paragraph) => (paragraph.match(usualField)?.length ?? 0) > 3)
  const start = text.search(usualField)
  return header ?? (start < 0 ? '' : text.slice(start))
}
