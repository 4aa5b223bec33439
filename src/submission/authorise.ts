import type { Accounts } from '../account/accounts.ts'
import { systemAccountId } from '../account/system-account.ts'
import { SternaError } from '../errors.ts'
import type { Submission } from '../message/submission.ts'
import type { TrackingOptions } from '../message/tracking-options.ts'
import { domainOf } from '../smtp/address.ts'

/** A domain that an account may send from. */
interface OwnedDomain {
  id: string
  name: string
  /** What is tracked of its mail unless the mail says otherwise. */
  tracking: Pick<TrackingOptions, 'opens' | 'clicks'>
}

/** The domain that signs a message. */
export type SigningDomain = Pick<OwnedDomain, 'id' | 'tracking'>

export interface AuthoriseParts {
  accounts: Pick<Accounts, 'accountFor'>
  /** The verified domain of this account that is `name` or a parent of it. */
  verifiedDomainFor(accountId: string, name: string): OwnedDomain | null
}

/**
 * Judges whether this submitter may send this message: an active account, and every address that claims to be its
 * author (From, Sender and the envelope's reverse-path) at a domain verified for the account and allowed to the key.
 * Returns the domain that signs: that of the first From address; null in the sandbox, whose mail goes nowhere. Mail of the
 * server's own is its own to judge.
 * @throws SternaError `account_suspended`, `domain_not_verified`, `restricted_api_key`
 */
export function authorise(submission: Submission, parts: AuthoriseParts): SigningDomain | null {
  const { submitter, header, envelope } = submission
  // Nobody but the server itself can submit as this account.
  if (submitter.accountId === systemAccountId)
    return submitter.domainId === null ? null : { id: submitter.domainId, tracking: { opens: false, clicks: false } }
  const account = parts.accounts.accountFor(submitter.accountId)
  if (account?.status !== 'active') throw accountSuspended()
  if (submitter.sandbox) return null
  const addresses = header.from.map(({ address }) => address)
  if (header.sender) addresses.push(header.sender.address)
  if (envelope.reversePath !== null) addresses.push(envelope.reversePath)
  const domains = addresses.map((address) => ownedDomain(domainOf(address), submitter, parts))
  return domains[0] ?? null
}

export const accountSuspended = (): SternaError =>
  new SternaError('account_suspended', 'This account is suspended and cannot send. Ask the operator of this server.')

function ownedDomain(name: string, submitter: Submission['submitter'], parts: AuthoriseParts): OwnedDomain {
  const domain = parts.verifiedDomainFor(submitter.accountId, name)
  if (!domain) {
    throw new SternaError(
      'domain_not_verified',
      `The domain ${name} is not verified for this account. Add it, publish its DNS records and verify it before sending from it.`,
    )
  }
  if (submitter.domainId !== null && submitter.domainId !== domain.id) {
    throw new SternaError('restricted_api_key', `This API key may not send from ${name}.`)
  }
  return domain
}
