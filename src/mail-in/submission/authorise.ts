import type { Accounts } from '../../senders/account/accounts.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Submission } from '../../mail/message/submission.ts'
import type { TrackingOptions } from '../../mail/message/tracking-options.ts'
import { domainOf } from '../../platform/smtp/address.ts'

/** A domain that an account may send from. */
interface OwnedDomain {
  id: string
  name: string
  /** What is tracked in its mail by default. */
  tracking: Pick<TrackingOptions, 'opens' | 'clicks'>
}

/** The domain that signs a message. */
export type SigningDomain = Pick<OwnedDomain, 'id' | 'tracking'>

export interface AuthoriseServices {
  accounts: Pick<Accounts, 'accountFor'>
  /** The verified domain of this account that is `name` or a parent of it. */
  verifiedDomainFor(accountId: string, name: string): OwnedDomain | null
}

/**
 * Checks that this submitter may send this message: the account is active, and every author address (From, Sender, Resent-From,
 * Resent-Sender and the reverse-path) is at a domain that the account has verified and the key may use. The server's own mail is not
 * checked.
 * Returns the domain that signs, that of the first From address; null in the sandbox, whose mail is never sent.
 * @throws SternaError `account_suspended`, `domain_not_verified`, `restricted_api_key`
 */
export function authorise(submission: Submission, services: AuthoriseServices): SigningDomain | null {
  const { submitter, header, envelope } = submission
  // Nobody but the server itself can submit as this account.
  if (submitter.accountId === systemAccountId)
    return submitter.domainId === null ? null : { id: submitter.domainId, tracking: { opens: false, clicks: false } }
  const account = services.accounts.accountFor(submitter.accountId)
  if (account?.status !== 'active') throw accountSuspended(account?.harm)
  if (submitter.sandbox) return null
  const owned = (address: string): OwnedDomain => ownedDomain(domainOf(address), submitter, services)
  const [signing] = header.from.map(({ address }) => owned(address))
  if (header.sender) owned(header.sender.address)
  for (const { address } of header.resentBy) owned(address)
  if (envelope.reversePath !== null) owned(envelope.reversePath)
  return signing ?? null
}

/** @param harm why the server suspended it by itself */
export const accountSuspended = (harm: string | null = null): SternaError =>
  new SternaError(
    'account_suspended',
    `This account is suspended and cannot send.${harm === null ? '' : ` ${harm}`} Ask the operator of this server.`,
  )

function ownedDomain(name: string, submitter: Submission['submitter'], services: AuthoriseServices): OwnedDomain {
  const domain = services.verifiedDomainFor(submitter.accountId, name)
  if (!domain) {
    throw new SternaError(
      'domain_not_verified',
      `The domain ${name} is not verified for this account. Add it, publish its DNS records and verify it before sending from it.`,
    )
  }
  if (submitter.domainId !== null && submitter.domainId !== domain.id) {
    throw new SternaError('restricted_api_key', `This API key cannot send from ${name}.`)
  }
  return domain
}
