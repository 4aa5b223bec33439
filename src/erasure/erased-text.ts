import type { AddressForms } from './address-forms.ts'

/** What replaces what, and whether the text is only about the erased recipient. */
export interface Redaction {
  forms: AddressForms
  /** The address that replaces the erased one. */
  erased: string
  /** True if the whole text concerns the erased recipient, so the sender's words are emptied too. */
  isAllTheirs: boolean
}

/** Columns of a message that may name somebody. */
export interface MessageTexts {
  reverse_path: string | null
  author: string | null
  header_from: string
  header_to: string
  header_cc: string
  reply_to: string
  subject: string
  message_id_header: string
  envid: string | null
  tags: string
  metadata: string
}

/** A message without the address and, if it went to nobody else, without its sender's words. */
export function erasedMessage(row: MessageTexts, { forms, erased, isAllTheirs }: Redaction): MessageTexts {
  const without = (text: string): string => forms.without(text, erased)
  // A mailbox is removed whole, with its display name.
  const mailboxes = (json: string): string =>
    JSON.stringify((JSON.parse(json) as string[]).map((text) => (forms.names(text) ? erased : text)))
  return {
    reverse_path: row.reverse_path && without(row.reverse_path),
    author: row.author && without(row.author),
    header_from: forms.names(row.header_from) ? erased : row.header_from,
    header_to: mailboxes(row.header_to),
    header_cc: mailboxes(row.header_cc),
    reply_to: mailboxes(row.reply_to),
    subject: isAllTheirs ? '' : without(row.subject),
    message_id_header: without(row.message_id_header),
    envid: isAllTheirs ? null : row.envid && without(row.envid),
    tags: isAllTheirs ? '[]' : without(row.tags),
    metadata: isAllTheirs ? '{}' : without(row.metadata),
  }
}

/** What servers and mail programs said in an event, and what replaces it after an erasure. */
const saidInEvents: Record<string, string | null> = { reason: '', link: '', ip_address: null, user_agent: null }

/** An event's data without the address; if the event is about the erased recipient, also without what anybody said. */
export function erasedEventData(json: string, { forms, erased, isAllTheirs }: Redaction, isAboutThem: boolean): string {
  const data = JSON.parse(json) as Record<string, unknown>
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === 'string') data[name] = forms.without(value, erased)
    if (isAboutThem && name in saidInEvents) data[name] = saidInEvents[name]
  }
  if (isAllTheirs) data['subject'] = ''
  if (isAboutThem) data['to'] = erased
  return JSON.stringify(data)
}
