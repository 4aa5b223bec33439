import { isIP } from 'node:net'
import type { BaseServices } from '../../platform/base-services.ts'
import { isAbsence } from '../../mail-out/delivery/outcome.ts'
import { routeTo, type FoundRoute, type RouteHost, type RouteServices } from '../../mail-out/delivery/route.ts'
import { simulatorDomain } from '../../mail-out/delivery/simulator.ts'
import { destinationGroup } from '../../mail-out/delivery/destination-group.ts'
import { ownFamilies, partsOfStop, stopKeys } from '../../mail-out/delivery/stop-key.ts'
import { readProviderStops } from '../../mail-out/queue/provider-stop-list.ts'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { stsExpiry, stsInForce } from '../../mail-out/mta-sts/known-sts.ts'
import type { StsPolicies } from '../../mail-out/mta-sts/sts-policies.ts'
import type { StsPolicy } from '../../mail-out/mta-sts/sts-policy.ts'
import type { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import type { DestinationQueue } from '../../mail-out/queue/queue-overview.ts'
import { untilSecondLook } from '../../mail-out/queue/confirm-absence.ts'
import { wayOf, type ExplainRouteServices } from './explain-route.ts'
import type { Address } from '../../platform/smtp/address.ts'
import type { Database, Row } from '../../platform/store/database.ts'
import { tlsPolicyFor, type RecipientTls, type TlsPolicy } from '../../platform/config/recipient-tls.ts'
import { erasedNames, type ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { suppressionAddress } from '../../mail/suppression/suppression-address.ts'

interface ExplainServices extends Pick<BaseServices, 'db' | 'clock'>, ExplainRouteServices {
  queueAdmin: Pick<QueueAdmin, 'destination'>
  route: RouteServices
  erasedAddress: ErasedAddress
  /** What mail leaves from; none: the system chooses. */
  sources: readonly SourceAddress[]
  /** The setting, in place of which accounts may have their own. */
  recipientTls: RecipientTls
  /** Null: mail goes by none. */
  stsPolicies: Pick<StsPolicies, 'find'> | null
}

/** Why an account must not write to an address. */
export interface SuppressionReason extends Row {
  account_id: string
  account: string
  origin: string
  topic: string
  reason: string | null
  created_at: number
}

/** What would happen to mail for an address. */
interface AddressExplanation {
  /**
   * `deliver`: to the hosts. `defer`, `bounce`: without a connection, for this reason. `simulate`: nothing leaves. `hold`: an operator
   * holds mail for the destination.
   */
  next: 'deliver' | 'defer' | 'bounce' | 'simulate' | 'hold'
  /** Why it is not delivered; null if it is. */
  reason: string | null
  hosts: RouteHost[]
  viaSmarthost: boolean
  /** The route that mail takes unless a route names its sender; null: none. */
  routeId: string | null
  /** True if routes send the mail of some accounts or sending domains another way. */
  dependsOnSender: boolean
  /** What the settings require for mail to the address's domain. */
  tlsPolicy: TlsPolicy
  /** What the address's domain publishes, as it is known; with a smarthost, what its domain does. Null: mail goes by none. */
  sts: (StsPolicy & { expiresAt: number }) | null
  /** Sending domains whose mail requires TLS with a valid certificate; mail from other domains uses what the host offers. */
  tlsEnforcedBy: string[]
  suppressions: SuppressionReason[]
  queue: DestinationQueue | null
}

/** Predicts what would happen to mail for an address, without connecting to anybody. */
export async function explainAddress(to: Address, services: ExplainServices): Promise<AddressExplanation> {
  const { choice, smarthost, fault, isOfSome } = await wayOf({ accountId: '', sendingDomain: null, destination: to.domain }, services)
  const by = { routeId: choice.routeId, dependsOnSender: isOfSome }
  const explained = { ...by, ...(await explainDelivery(to, { ...services, route: { ...services.route, smarthost } })) }
  return fault === null || explained.next === 'simulate' ? explained : { ...explained, next: 'defer', reason: fault, hosts: [] }
}

/** The same once it is known which smarthost mail goes by. */
async function explainDelivery(
  { address, domain }: Address,
  services: ExplainServices,
): Promise<Omit<AddressExplanation, 'routeId' | 'dependsOnSender'>> {
  const required = tlsPolicyFor(services.recipientTls, domain)
  const [route, suppressions, tlsEnforcedBy, queue, sts] = await Promise.all([
    domain === simulatorDomain ? { hosts: [], mx: null } : routeTo(domain, services.route),
    suppressionsOf(services, address),
    enforcingDomains(services.db),
    services.queueAdmin.destination(domain),
    required === null && domain !== simulatorDomain ? stsOf(domain, services) : null,
  ])
  const tlsPolicy = required ?? 'opportunistic'
  const common = { viaSmarthost: services.route.smarthost !== null, tlsPolicy, sts, tlsEnforcedBy, suppressions, queue: queue ?? null }
  if (domain === simulatorDomain) {
    return {
      next: 'simulate',
      reason: 'Addresses at this domain simulate what their name says; nothing leaves this server.',
      hosts: [],
      ...common,
      viaSmarthost: false,
    }
  }
  if ('outcome' in route) {
    const { outcome } = route
    if (isAbsence(outcome)) return { next: 'defer', reason: untilSecondLook(outcome.reason), hosts: [], ...common }
    const reason = outcome.type === 'delivered' ? null : outcome.reason
    return { next: outcome.type === 'bounced' ? 'bounce' : 'defer', reason, hosts: [], ...common }
  }
  if (queue && queue.held === queue.waiting)
    return { next: 'hold', reason: 'An operator is holding the mail that waits for this destination.', hosts: route.hosts, ...common }
  const stopped = await whyStopped(domain, route, services)
  if (stopped !== null) return { next: 'defer', reason: stopped, hosts: route.hosts, ...common }
  return { next: 'deliver', reason: null, hosts: route.hosts, ...common }
}

/** Null unless the hosts refuse every address that mail leaves from. */
async function whyStopped(domain: string, { hosts, mx }: FoundRoute, services: ExplainServices): Promise<string | null> {
  if (mx === null) return null
  const group = destinationGroup(domain, mx.records)
  const stops = (await readProviderStops(services)).filter(({ key }) => partsOfStop(key).group === group)
  const families = ownFamilies({ ...services, interfaceAddresses: services.route.guard.interfaceAddresses })
  const used = families.filter((family) => hosts.some(({ address }) => isIP(address) === family))
  const keys = stopKeys(group, services, used)
  const own = stops.filter(({ key }) => keys.includes(key)).toSorted((one, other) => one.until - other.until)
  const [first] = own
  if (!first || own.length < keys.length) return null
  const { until, reason } = first
  return `${group} refuses mail from this server, so it gets none until one message is tried at ${isoTime(until)}. It said: ${reason}`
}

async function stsOf(domain: string, { stsPolicies, route, clock }: ExplainServices): Promise<AddressExplanation['sts']> {
  const known = await stsPolicies?.find(route.smarthost?.host.toLowerCase() ?? domain)
  const policy = known ? stsInForce(known, clock.now()) : null
  return known && policy ? { ...policy, expiresAt: stsExpiry(known) } : null
}

/** Of any account's live mail. Uses the index suppression_address. */
function suppressionsOf({ db, clock, erasedAddress }: ExplainServices, address: string): Promise<SuppressionReason[]> {
  const { names, params } = erasedNames(erasedAddress, address)
  return db.slowRead<SuppressionReason>(
    `select s.account_id, a.name as account, s.origin, s.topic, s.reason, s.created_at
       from suppression s join account a on a.id = s.account_id
      where s.address in (:address, ${names}) and s.sandbox = 0 and (s.expires_at is null or s.expires_at > :now) order by s.id limit 100`,
    { address: suppressionAddress(address), ...params, now: clock.now() },
  )
}

async function enforcingDomains(db: Database): Promise<string[]> {
  const rows = await db.slowRead<{ name: string }>(
    `select distinct name from domain where tls = 'enforced' and removed_at is null order by name limit 100`,
  )
  return rows.map(({ name }) => name)
}
