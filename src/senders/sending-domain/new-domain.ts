import { systemAccountId } from '../account/system-account.ts'
import { newId } from '../../platform/id.ts'
import type { Domain } from './domain.ts'
import { domainObject, type DomainFields } from './domain-object.ts'
import { isDomainName, parseDomainName, parseLabel, parseTrackingLabel } from './sending-domain-name.ts'

export interface DomainSettings extends Partial<Omit<DomainFields, 'name'>> {
  /** JSON by file. */
  appLinks?: Record<string, string>
}

/**
 * A new domain, without keys yet.
 * @param whose with the name as given; `now` epoch, ms
 * @throws SternaError `validation_error`
 */
export function newDomain(whose: { accountId: string; name: string; now: number }, wanted: DomainSettings): Domain {
  const { accountId, now } = whose
  const settings = { ...domainObject.initial, ...wanted }
  const returnPathLabel = parseLabel(settings.returnPathLabel, 'custom_return_path')
  return {
    appLinks: {},
    ...settings,
    id: newId('dom', now),
    accountId,
    name: parseDomainName(whose.name),
    status: 'not_started',
    returnPathLabel,
    returnPathSeen: false,
    trackingSubdomain: parseTrackingLabel(settings.trackingSubdomain, returnPathLabel),
    checkedAt: null,
    verifiedAt: null,
    missingSince: null,
    createdAt: now,
    removedAt: null,
    keys: [],
    records: {},
    revision: 0,
  }
}

/**
 * The server's own domain, without keys yet; null if its name cannot be in the DNS, such as `localhost`.
 * @param now epoch, ms
 */
export function newSystemDomain(hostname: string, now: number): Domain | null {
  if (!isDomainName(hostname)) return null
  return { ...newDomain({ accountId: systemAccountId, name: hostname, now }, { subdomains: false }), returnPathLabel: '' }
}
