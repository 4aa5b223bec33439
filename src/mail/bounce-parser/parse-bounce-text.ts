import { isBounceNotice } from './bounce-notice.ts'
import type { ProvenRecipient, ReportedRecipient } from './feedback.ts'
import { Forwarding } from './forwarding.ts'
import { namedRecipients, type NamedRecipient } from './named-recipients.ts'
import { originalMessage, type OriginalMessage } from './original-message.ts'
import { saidAction } from './report-phrases.ts'
import { reportLines } from './report-text.ts'
import { reportedAddresses } from './reported-address.ts'
import { PhaseText } from './reported-phase.ts'
import { isProvenNotice } from './proven-notice.ts'
import { valuesOf, type HeaderField, type ReturnedMessage } from './returned-message.ts'
import { toldRecipient } from './told-recipient.ts'

/** Fields of the original that name its sender. A Message-ID looks like an address. */
const senderFields = ['from', 'return-path', 'sender', 'reply-to', 'message-id']

/**
 * What a bounce without a delivery status says in its text; empty if the message is no bounce. A recipient is hard only if the text says so
 * plainly. The returned original shows the sender, who has not failed; its only recipient counts if the text names none.
 * @param failed addresses known to have failed
 */
export function parseBounceText(
  message: ReturnedMessage,
  about: ProvenRecipient | null = null,
  failed: readonly string[] = [],
): ReportedRecipient[] {
  const lines = reportLines(message)
  const text = lines.join('\n')
  if (!isReport(message, text, about)) return []
  const named = recipientsOf(message, lines, failed)
  const forwarding = new Forwarding(message)
  const recipients = about === null ? named : [provenRecipient(named, about.forwardPath, originalMessage(message), forwarding)]
  const { vocabulary } = message
  const action = saidAction(vocabulary.phrases.saidIn(text))
  const report = { text, phase: new PhaseText(text), action, isOnly: recipients.length === 1, vocabulary }
  const told = recipients.map((recipient) => ({ ...toldRecipient(recipient, report), forwardedTo: forwarding.of(recipient.address) }))
  return isTranscriptForOperator(message) ? told.map((recipient) => ({ ...recipient, hard: false })) : told
}

/** True if mail is a report, by what it says of itself; at a recipient's bounce address there must be evidence. */
export function isReport(message: ReturnedMessage, text: string, about: ProvenRecipient | null): boolean {
  if (about === null) return isBounceNotice(message, text)
  return (about.isFromSystem || isBounceNotice(message, text)) && isProvenNotice(message, about.forwardPath, text)
}

/**
 * The recipient that the bounce was proved to be about. Names in the text select nobody, but reveal forwarding if our message came back.
 */
function provenRecipient(
  named: readonly NamedRecipient[],
  forwardPath: string,
  { reference, unsubscribe }: OriginalMessage,
  forwarding: Forwarding,
): NamedRecipient {
  const target = forwarding.of(forwardPath)?.toLowerCase()
  const forwarded = target && named.find(({ address }) => address?.toLowerCase() === target)
  if (forwarded) return { address: forwardPath, reason: forwarded.reason }
  const own = named.find(({ address }) => address?.toLowerCase() === forwardPath.toLowerCase())
  if (own) return own
  const [first, ...others] = named
  const isReturned = reference !== null || unsubscribe !== null
  return { address: (isReturned && first?.address) || null, reason: (others.length === 0 && first?.reason) || '' }
}

/** Postfix also sends its operator transcripts of other clients' sessions, which do not show whose mail was refused. */
const isTranscriptForOperator = (message: ReturnedMessage): boolean =>
  message.field('subject').startsWith('Postfix SMTP server: errors from ')

function recipientsOf(message: ReturnedMessage, lines: string[], known: readonly string[]): NamedRecipient[] {
  const original = originalMessage(message).headers
  const writtenTo = new Set(addressesOf(original, ['to', 'cc', 'x-original-to']))
  const systems = addressesOf(message.headers, ['from'])
  const senders = addressesOf(message.headers, ['to']).concat(addressesOf(original, senderFields))
  const listed = addressesOf(message.headers, ['x-failed-recipients'])
  const failed = new Set(listed.concat(known.map((address) => address.toLowerCase())))
  const namedBut = (others: string[]): NamedRecipient[] =>
    namedRecipients(lines, { writtenTo, failed, others: new Set(others) }, message.vocabulary.phrases)
  const strangers = namedBut(systems.concat(senders))
  // In mail to oneself the sender is also the recipient.
  const named = strangers.length > 0 ? strangers : namedBut(systems)
  if (listed.length > 0)
    return listed.map((address) => named.find((one) => one.address?.toLowerCase() === address) ?? { address, reason: '' })
  if (named.length > 0) return named
  return writtenTo.size === 1 ? [...writtenTo].map((address) => ({ address, reason: '' })) : []
}

/** In lower case. */
const addressesOf = (headers: readonly HeaderField[], names: string[]): string[] =>
  names.flatMap((name) => reportedAddresses(valuesOf(headers, name))).map((address) => address.toLowerCase())
