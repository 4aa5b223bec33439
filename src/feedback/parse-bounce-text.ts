import { classifyRefusal } from '../bounce/classify-refusal.ts'
import type { Refusal } from '../bounce/refusal.ts'
import { domainOf } from '../smtp/address.ts'
import { isBounceNotice } from './bounce-notice.ts'
import { saysDelayed } from './bounce-words.ts'
import { parseDiagnostic } from './diagnostic.ts'
import type { ReportedRecipient } from './feedback-report.ts'
import { judgeRefusal } from './judge-refusal.ts'
import { namedRecipients } from './named-recipients.ts'
import type { NamedRecipient } from './named-recipients.ts'
import { originalMessage } from './original-message.ts'
import { reportLines } from './report-text.ts'
import { phaseText, reportedPhase } from './reported-phase.ts'
import { headerValue } from './returned-message.ts'
import type { HeaderField, ReturnedMessage } from './returned-message.ts'

/** Characters of a reason. */
const longestReason = 1000
const anyAddress = /[^\s<>()[\]"',:;]{1,64}@[^\s<>()[\]"',:;]{1,255}/g

/**
 * What a report without a delivery status says in its own words; empty for what is no report. A recipient is named hard
 * only where the text says so plainly. The message that came back tells who sent it, and so who has not failed; its
 * recipient counts where it had one only and the report names nobody.
 */
export function parseBounceText(message: ReturnedMessage): ReportedRecipient[] {
  const lines = reportLines(message)
  const text = lines.join('\n')
  if (!isBounceNotice(message, text)) return []
  const isDelayed = saysDelayed(text)
  const recipients = recipientsOf(message, lines)
  // What is said of nobody in particular is said of the only one.
  return recipients.map((recipient) => reported(recipient, text, { isDelayed, isOnly: recipients.length === 1 }))
}

function recipientsOf(message: ReturnedMessage, lines: string[]): NamedRecipient[] {
  const failed = addressesIn(headerValue(message, 'x-failed-recipients'))
  const original = originalMessage(message).headers
  const written = addressesOf(original, ['to', 'cc', 'x-original-to'])
  const systems = new Set(addressesIn(headerValue(message, 'from')))
  const senders = new Set([...addressesIn(headerValue(message, 'to')), ...addressesOf(original, ['from', 'return-path', 'sender', 'reply-to', 'message-id'])])
  const isWrittenTo = (address: string): boolean => written.includes(address.toLowerCase())
  const named = [(address: string) => systems.has(address) || senders.has(address), (address: string) => systems.has(address)].map((isOther) =>
    namedRecipients(lines, { isWrittenTo, isSomebodyElse: (address) => isOther(address.toLowerCase()) }),
  )
  // Who writes to themselves is sender and recipient.
  const found = named.find((recipients) => recipients.length > 0) ?? []
  if (failed.length > 0) return failed.map((address) => found.find((one) => one.address.toLowerCase() === address) ?? { address, reason: '' })
  if (found.length > 0) return found
  return written.length === 1 ? written.map((address) => ({ address, reason: '' })) : []
}

function reported({ address, reason }: NamedRecipient, text: string, { isDelayed, isOnly }: { isDelayed: boolean; isOnly: boolean }): ReportedRecipient {
  const own = judge(reason, text, address)
  const { said, judgement } = isOnly && own.judgement.category === 'other' ? judge(`${reason}\n${text}`, text, address) : own
  return {
    address,
    action: isDelayed ? 'delayed' : 'failed',
    hard: judgement.hard && !isDelayed,
    status: said.enhancedCode,
    category: judgement.category,
    smtpCode: said.code,
    reason: said.text.slice(0, longestReason),
  }
}

/** What introduces a reply may speak for itself; where the whole cannot be understood, the reply alone counts. */
function judge(reason: string, text: string, address: string) {
  const said = parseDiagnostic(reason)
  const host = /(?:talking to|host|server|by|from)\s{1,3}([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8})/i.exec(reason)?.[1]
  const remoteHost = (host ?? domainOf(address)).toLowerCase()
  const refusal: Refusal = { ...said, remoteHost, phase: reportedPhase(phaseText(text), said.text) }
  // Without a code it is no reply that is quoted, but what the reporting system found out itself.
  if (said.code === null) return { said, judgement: classifyRefusal(refusal) }
  const judgement = judgeRefusal(refusal)
  const quoted = said.text.slice(said.text.indexOf(String(said.code)))
  return { said, judgement: judgement.category === 'other' ? judgeRefusal({ ...refusal, text: quoted }) : judgement }
}

const addressesIn = (value: string): string[] => value.match(anyAddress)?.map((address) => address.toLowerCase()) ?? []

const addressesOf = (fields: readonly HeaderField[], names: string[]): string[] =>
  fields.filter(({ name }) => names.includes(name)).flatMap(({ value }) => addressesIn(value))
