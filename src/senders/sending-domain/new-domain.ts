import { systemAccountId } from '../account/system-account.ts'
import { newId } from '../../platform/id.ts'
import type { Domain, DomainTls } from './domain.ts'
import { isDomainName, parseDomainName, parseLabel, parseTrackingLabel } from './sending-domain-name.ts'

/** What can be changed later. */
export interface ChangeableSettings {
  /** Default: `opportunistic`. */
  tls?: DomainTls | undefined
  /** Default: true. */
  subdomains?: boolean | undefined
  /** Default: false. */
  openTracking?: boolean | undefined
  /** Default: false. */
  clickTracking?: boolean | undefined
  /** A label under the domain. */
  trackingSubdomain?: string | null | undefined
  /** JSON by file. */
  appLinks?: Record<string, string> | undefined
}

export interface DomainSettings extends ChangeableSettings {
  /** Default: `send`. */
  returnPathLabel?: string | null | undefined
}

/**
 * A new domain, without keys yet.
 * @param whose with the name as given; `now` epoch, ms
 * @throws SternaError `validation_error`
 */
export function newDomain(whose: { accountId: string; name: string; now: number }, wanted: DomainSettings): Domain {
  const { accountId, now } = whose
  const returnPathLabel = parseLabel(wanted.returnPathLabel ?? 'send', 'custom_return_path')
  return {
    id: newId('dom', now),
    accountId,
    name: parseDomainName(whose.name),
    status: 'not_started',
    returnPathLabel,
    returnPathSeen: false,
    tls: wanted.tls ?? 'opportunistic',
    subdomains: wanted.subdomains ?? true,
    tracking: { opens: wanted.openTracking ?? false, clicks: wanted.clickTracking ?? false },
    trackingSubdomain: parseTrackingLabel(wanted.trackingSubdomain, returnPathLabel),
    appLinks: wanted.appLinks ?? {},
    checkedAt: null,
    verifiedAt: null,
    missingSince: null,
    createdAt: now,
    removedAt: null,
    keys: [],
    records: {},
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
