import { readByAny } from '../../platform/key-generations.ts'
import { reportMailboxes } from '../../senders/sending-domain/report-addresses.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { decodeToken } from '../../platform/smtp/verp.ts'
import { replyOf } from '../../mail-in/smtp-server/smtp-refusal.ts'
import type { ReturnPathRecipient, ReturnPathPurpose } from './returned-mail-store.ts'

/** What it takes to recognise our addresses. */
export interface ReturnPathContext {
  /** Whether the return path accepts mail for this domain (A-labels, lower case). */
  isOurs(domain: string): boolean
  /** Whether people may write to us at it: the name of this server, or of a domain whose owner has proved it to be theirs. */
  isVerified(domain: string): boolean
  /** Verify recipients' tokens. */
  tokenKeys: () => readonly Buffer[]
  /** Epoch, ms. */
  now: number
}

/** The mailboxes of each of our domains: RFC 5321 4.5.1, RFC 2142, complaints, and domain reports. */
const mailboxes: ReadonlyMap<string, ReturnPathPurpose> = new Map([
  ['postmaster', 'postmaster'],
  ['abuse', 'abuse'],
  ['fbl', 'complaint'],
  [reportMailboxes.dmarc, 'dmarc_report'],
  [reportMailboxes.tls, 'tls_report'],
])

/**
 * What mail to this address is for, or the reply that refuses it. Needs no look-up, because a token proves itself.
 * @param forwardPath `local@domain`, as parsed by `parseAddress`
 */
export function returnPathRecipient(
  forwardPath: string,
  { isOurs, isVerified, tokenKeys, now }: ReturnPathContext,
): ReturnPathRecipient | Reply {
  const domain = domainOf(forwardPath)
  if (!isOurs(domain)) return notOurs
  const localPart = forwardPath.slice(0, -domain.length - 1).toLowerCase()
  const purpose = mailboxes.get(localPart)
  // What is written to postmaster and abuse reaches the operator, so nobody opens them by adding a domain of somebody else's.
  if (isForPeople(purpose) && !isVerified(domain)) return unknown
  if (purpose) return { forwardPath, purpose, recipientId: null }
  const token = readByAny(tokenKeys(), (key) => decodeToken(localPart, key, now))
  // A reference is for finding our message again. It is not an address.
  if (!token || token.purpose === 'reference') return unknown
  return token.isExpired ? expired : { forwardPath, purpose: token.purpose, recipientId: token.recipientId }
}

const isForPeople = (purpose: ReturnPathPurpose | undefined): boolean => purpose === 'postmaster' || purpose === 'abuse'

const notOurs = replyOf(550, '5.7.1', 'Relaying denied: this server accepts mail only for its own addresses')
const unknown = replyOf(550, '5.1.1', 'No such mailbox here')
const expired = replyOf(550, '5.2.1', 'This address was for bounces of one message and has expired')
