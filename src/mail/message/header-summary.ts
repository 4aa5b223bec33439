import { mailboxText, type Mailbox } from '../../platform/smtp/mailbox.ts'

/** The parts of a header that authorise a message and that lists and searches show. */
export interface HeaderSummary {
  /** Every mailbox of From: the domain of each must belong to the submitter. */
  from: Mailbox[]
  sender: Mailbox | null
  /** Every mailbox of Resent-From and Resent-Sender, to which the same applies. */
  resentBy: Mailbox[]
  /** The address fields for display: decoded, long ones shortened. */
  fromText: string
  toText: string[]
  ccText: string[]
  replyToText: string[]
  /** Decoded, at most 998 characters. */
  subject: string
  /** With its angle brackets. */
  messageIdHeader: string
}

/** The address fields and the subject of a message to be composed. */
export interface HeaderInput {
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  replyTo: Mailbox[]
  subject: string
}

export const headerSummary = ({ from, to, cc, replyTo, subject }: HeaderInput, messageIdHeader: string): HeaderSummary => ({
  from: [from],
  sender: null,
  resentBy: [],
  fromText: mailboxText(from),
  toText: to.map(mailboxText),
  ccText: cc.map(mailboxText),
  replyToText: replyTo.map(mailboxText),
  subject,
  messageIdHeader,
})

/** The columns of `message` that store the summary. */
export const headerColumns = (header: HeaderSummary) => ({
  author: header.from[0]?.address.toLowerCase() ?? null,
  header_from: header.fromText,
  header_to: JSON.stringify(header.toText),
  header_cc: JSON.stringify(header.ccText),
  reply_to: JSON.stringify(header.replyToText),
  subject: header.subject,
  message_id_header: header.messageIdHeader,
})

/** @param authors the mailboxes of those who write and send, which the columns store only as text */
export const storedHeader = (
  row: ReturnType<typeof headerColumns>,
  authors: Pick<HeaderSummary, 'from' | 'sender' | 'resentBy'>,
): HeaderSummary => ({
  ...authors,
  fromText: row.header_from,
  toText: JSON.parse(row.header_to) as string[],
  ccText: JSON.parse(row.header_cc) as string[],
  replyToText: JSON.parse(row.reply_to) as string[],
  subject: row.subject,
  messageIdHeader: row.message_id_header,
})
