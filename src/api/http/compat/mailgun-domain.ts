import { SternaError } from '../../../platform/errors.ts'
import { parseDomain } from '../../../platform/smtp/domain-name.ts'
import type { CompatServices } from './compat-api.ts'
import type { ApiContext } from '../api-state.ts'

/**
 * The domain in the path; the sandbox needs none that is verified.
 * @throws SternaError `domain_not_verified`
 */
export function mailgunDomain(ctx: ApiContext, { verifiedDomainFor }: Pick<CompatServices, 'verifiedDomainFor'>): string {
  const { accountId, sandbox } = ctx.state.caller
  const name = ctx.params.domain ?? ''
  const parsed = parseDomain(name)
  if (parsed.ok && (sandbox || verifiedDomainFor(accountId, parsed.domain))) return parsed.domain
  throw new SternaError(
    'domain_not_verified',
    `Domain not found: ${parsed.ok ? parsed.domain : 'the path does not name one'}. It is not verified for this account.`,
  )
}
