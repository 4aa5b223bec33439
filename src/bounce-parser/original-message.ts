import { reportedAddress } from './reported-address.ts'
import type { HeaderField, ReturnedMessage } from './returned-message.ts'

/** Of the message that a report is about, what the report still shows. */
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
const field = /^([!-9;-~]{1,76})[ \t]{0,8}:(.*)$/
/** Fields that the header of a message has; words of a report seldom begin a line so. */
const usualField = /^(?:return-path|received|message-id|dkim-signature|from|to|subject|date|mime-version|x-[a-z0-9-]{1,60}):[ \t]/gim

const mostFields = 1000

/** The message that came back, with its header where there is one. */
export function originalMessage(message: ReturnedMessage): OriginalMessage {
  const text = message.part(messageTypes)?.content ?? textOriginal(message.part(/^text\/plain$/)?.content ?? '')
  const headers = headerOf(text)
  const value = (name: string): string | null => headers.find((each) => each.name === name)?.value || null
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
  const header = text.split(/\n[ \t]*\n/).find((paragraph) => (paragraph.match(usualField)?.length ?? 0) > 3)
  if (header !== undefined) return header
  const start = text.search(usualField)
  return start < 0 ? '' : text.slice(start)
}

/** The fields up to the first empty line; lines that are none are passed over. */
function headerOf(text: string): HeaderField[] {
  const fields: HeaderField[] = []
  for (const line of text.replace(/^\n+/, '').split('\n', 10 * mostFields)) {
    if (line.trim() === '' || fields.length >= mostFields) break
    const last = fields.at(-1)
    const [, name, value = ''] = /^[ \t]/.test(line) ? [] : (field.exec(line) ?? [])
    if (name !== undefined) fields.push({ name: name.toLowerCase(), value: value.trim() })
    else if (last && last.value.length < 4000) last.value = `${last.value} ${line.trim()}`
  }
  return fields
}
