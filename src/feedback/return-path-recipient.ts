import { reportMailboxes } from '../sending-domain/report-addresses.ts'
import { domainOf } from '../smtp/address.ts'
import type { Reply } from '../smtp/reply.ts'
import { decodeToken } from '../smtp/verp.ts'
import { replyOf } from '../smtp-server/smtp-refusal.ts'
import type { ReturnPathRecipient, ReturnPathPurpose } from './returned-mail-store.ts'

/** By what an address of ours is told from others. */
export interface ReturnPathContext {
  /** Of a domain in A-labels and lower case: whether the return path takes mail for it. */
  isOurs(domain: string): boolean
  /** Of the tokens of recipients. */
  tokenKey: Buffer
  /** Epoch, ms. */
  now: number
}

/** Mailboxes that each of our domains has: RFC 5321 4.5.1, RFC 2142, and those that we have others report to. */
const mailboxes: ReadonlyMap<string, ReturnPathPurpose> = new Map([
  ['postmaster', 'postmaster'],
  ['abuse', 'abuse'],
  ['fbl', 'complaint'],
  [reportMailboxes.dmarc, 'dmarc_report'],
  [reportMailboxes.tls, 'tls_report'],
])

/**
 * What mail to this address is for, or why it is refused. Needs no look-up: a token proves itself.
 * @param forwardPath `local@domain`, as `parseAddress` gave it
 */
export function returnPathRecipient(forwardPath: string, { isOurs, tokenKey, now }: ReturnPathContext): ReturnPathRecipient | Reply {
  const domain = domainOf(forwardPath)
  if (!isOurs(domain)) return notOurs
  const localPart = forwardPath.slice(0, -domain.length - 1).toLowerCase()
  const purpose = mailboxes.get(localPart)
  if (purpose) return { forwardPath, purpose, recipientId: null }
  const token = decodeToken(localPart, tokenKey, now)
  // A reference stands in a message to be found again there; it is no address.
  if (!token || token.purpose === 'reference') return unknown
  return token.isExpired ? expired : { forwardPath, purpose: token.purpose, recipientId: token.recipientId }
}

const notOurs = replyOf(550, '5.7.1', 'Relaying denied: this server takes mail for its own addresses only')
const unknown = replyOf(550, '5.1.1', 'There is no mailbox of that name here')
const expired = replyOf(550, '5.2.1', 'This address was for reports on one message, and the time for them is over')
