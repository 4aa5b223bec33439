import type { Row } from '../store/database.ts'
import type { AddressForms } from './address-forms.ts'
import { columnsIn, storedTables } from './stored-data.ts'

/** What is put in the place of what, and whether the text is about the erased recipient alone. */
export interface Redaction {
  forms: AddressForms
  /** The address that stands in the place of the erased one. */
  erased: string
  /** True where all that was written concerns the erased one, so that what the sender wrote is emptied too. */
  isAllTheirs: boolean
}

/** The columns of a message that may name somebody. */
export const messageTexts = columnsIn(storedTables['message']?.erased)

const mailboxLists = new Set(['header_to', 'header_cc', 'reply_to'])
/** Columns for the sender's own words, and what stands there once all of them concerned the erased one. */
const emptied: Record<string, string | null> = { subject: '', envid: null, tags: '[]', metadata: '{}' }

/** The texts of a message without the address, by column; of one that went to nobody else also without its sender's own words. */
export function erasedMessage(row: Row, { forms, erased, isAllTheirs }: Redaction): Record<string, string | null> {
  // A mailbox goes as a whole, with its display name.
  const erasedMailbox = (text: string): string => (forms.names(text) ? erased : text)
  const erasedIn = (column: string): string | null => {
    const text = row[column]
    if (isAllTheirs && column in emptied) return emptied[column] ?? null
    if (typeof text !== 'string') return null
    if (mailboxLists.has(column)) return JSON.stringify((JSON.parse(text) as string[]).map(erasedMailbox))
    return column === 'header_from' ? erasedMailbox(text) : forms.without(text, erased)
  }
  return Object.fromEntries(messageTexts.map((column) => [column, erasedIn(column)]))
}

/** What servers and mail programs have said in an event, with what stands there once it is erased. */
const saidInEvents: Record<string, string | null> = { reason: '', link: '', ip_address: null, user_agent: null }

/** The data of an event without the address; where the event is about the erased recipient, without what anybody said too. */
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
