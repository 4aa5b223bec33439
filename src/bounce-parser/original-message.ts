import { fieldsIn } from './fields.ts'
import { reportedAddress } from './reported-address.ts'
import { valuesOf, type HeaderField, type ReturnedMessage } from './returned-message.ts'

/** Of the message that a report is about, what the report still shows; null what it does not. */
export interface OriginalMessage {
  /** Its `X-Sterna-Ref`. */
  reference: string | null
  /** The mailbox in its `List-Unsubscribe`. */
  unsubscribe: string | null
  /** Its `Return-Path`, without angle brackets. */
  reversePath: string | null
  /** With angle brackets. */
  messageId: string | null
  /** Its header as far as it came back. */
  headers: HeaderField[]
}

const messageTypes = /^(?:message\/(?:rfc822|global|partial|rfc822-headers|global-headers)|text\/(?:rfc822|rfc822-headers|global-headers))$/
/** Fields that the header of a message has; words of a report seldom begin a line so. */
const usualField = /^(?:return-path|received|message-id|dkim-signature|from|to|subject|date|mime-version|x-[a-z0-9-]{1,60}):[ \t]/gim
const emptyLine = /\n[ \t]*\n/

/** The message that came back, with its header where there is one. */
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
 * The header of the original in a report that is all one text: the first paragraph that looks like one, since reports quote
 * To and Subject alone too; else what follows the first of its fields.
 */
function textOriginal(text: string): string {
  const header = text.split(emptyLine).find((paragraph) => (paragraph.match(usualField)?.length ?? 0) > 3)
  const start = text.search(usualField)
  return header ?? (start < 0 ? '' : text.slice(start))
}
