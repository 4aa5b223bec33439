import type { Row } from '../../platform/store/database.ts'
import type { AddressForms } from './address-forms.ts'
import { columnsIn, storedTables } from './stored-data.ts'

/** The replacements, and whether the text is only about the erased recipient. */
export interface Redaction {
  forms: AddressForms
  /** Replaces the erased address. */
  erased: string
  /** True if the mail went to nobody else. Then the sender's own words are removed, too. */
  isAllTheirs: boolean
}

/** The columns of a message that may name somebody. */
export const messageTexts = columnsIn(storedTables['message']?.erased)

const mailboxLists = new Set(['header_to', 'header_cc', 'reply_to'])
/** Columns with the sender's own words, and their replacement in mail that went to nobody else. */
const emptied: Record<string, string | null> = { subject: '', envid: null, tags: '[]', metadata: '{}' }

/** The texts of a message without the address, by column. */
export function erasedMessage(row: Row, { forms, erased, isAllTheirs }: Redaction): Record<string, string | null> {
  // Removes the display name with the address.
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

/** Words of servers and mail programs in an event, and their replacement. */
const saidInEvents: Record<string, string | null> = { reason: '', link: '', ip_address: null, user_agent: null }

/** An event's data without the address, and without anything said about the erased recipient. */
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
