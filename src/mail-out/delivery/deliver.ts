import { withoutReferenceField } from '../../mail/message/added-field.ts'
import { messageOf } from '../../platform/errors.ts'
import { listsMx } from '../mta-sts/sts-policy.ts'
import { inOrder } from './address-order.ts'
import { unconnectedAttempt, type Attempt, type DeliveryJob, type HostBackoff, type Outcome, type Postponed } from './attempt.ts'
import { destinationGroup } from './destination-group.ts'
import { attemptOf, draftFor } from './draft.ts'
import { backoffFor } from './host-health.ts'
import { findRoute, isAsked } from './find-route.ts'
import { messagesOf, unclean } from './leaving-message.ts'
import { deferral } from './outcome.ts'
import { smarthostFor } from './follow-choice.ts'
import { hostKey, type FoundRoute, type Route, type RouteHost } from './route.ts'
import type { StsFound } from './sts-lookup.ts'
import type { DomainSts } from './transport-policy.ts'
import type { ContentUse, DeliverServices, Transferring } from './transferring.ts'
import { HostTries } from './try-hosts.ts'

type OnAttempt = (result: Attempt | Postponed) => void

/**
 * One attempt to deliver one message to the recipients of one domain.
 *
 * 1. route       a smarthost, or MX hosts by preference (RFC 5321 5.1)
 * 2. TLS policy  what the message requires of the connection (RFC 7435)
 * 3. encode      what not every host accepts; add tracking
 * 4. sign        DKIM over the bytes about to leave
 * 5. transfer    host by host until one answers for the recipient; one transaction per recipient
 *
 * `onAttempt` settles every recipient once. An error that we do not understand is a deferral, because a mistake of ours must never lose
 * mail. The queue does the retries. Never rejects. Resolves to true if nothing reads the content any more.
 */
export async function deliver(job: DeliveryJob, onAttempt: OnAttempt, services: DeliverServices): Promise<boolean> {
  const use: ContentUse = { begun: 0, done: 0, isUncertain: false }
  if (job.choices) await deliverByChoice(job, onAttempt, { services, use })
  else await deliverAll(job, onAttempt, { services, use })
  return use.begun === use.done && !use.isUncertain
}

/** The same by the smarthost that the job's routes lead to, or by none. */
async function deliverByChoice(
  job: DeliveryJob,
  onAttempt: OnAttempt,
  { services, use }: Pick<Transferring, 'services' | 'use'>,
): Promise<void> {
  const { smarthosts, route } = services
  const told = job.choices?.isOfSome ? withoutBackoff(onAttempt) : onAttempt
  const smarthost = await smarthostFor(job, { smarthosts, resolver: route.resolver, smarthost: route.smarthost }).catch(ourError)
  if (smarthost !== null && 'outcome' in smarthost) {
    for (const { id } of job.recipients) told(attemptOf(draftFor(id, job, services), smarthost.outcome, job))
    return
  }
  await deliverAll(job, told, { services: { ...services, route: { ...route, smarthost } }, use })
}

/** Other mail for the destination may go another way, so it must not rest: what could not be tried is deferred. */
const withoutBackoff =
  (onAttempt: OnAttempt): OnAttempt =>
  (result) => {
    const { recipientId, backoff } = result
    if (!backoff) return onAttempt(result)
    const isTried = !('postponed' in result)
    onAttempt(isTried ? { ...result, backoff: undefined } : unconnectedAttempt(recipientId, deferral('other', backoff.reason).outcome))
  }

/** From the smarthost's own sender, if it takes no other; and without the field for the service that reports, unless it goes there. */
const asItLeaves = (job: DeliveryJob, { route: { smarthost } }: DeliverServices): DeliveryJob => {
  const sender = smarthost?.sender
  const isElsewhere = job.choices !== undefined && (smarthost === null || smarthost.id !== undefined)
  if (sender === undefined && !isElsewhere) return job
  const recipients = job.recipients.map((recipient) => ({
    ...recipient,
    reversePath: sender ?? recipient.reversePath,
    traceFields: isElsewhere ? withoutReferenceField(recipient.traceFields) : recipient.traceFields,
  }))
  return { ...job, recipients }
}

async function deliverAll(
  wanted: DeliveryJob,
  onAttempt: OnAttempt,
  { services, use }: Pick<Transferring, 'services' | 'use'>,
): Promise<void> {
  const job = asItLeaves(wanted, services)
  const open = new Map(job.recipients.map((recipient) => [recipient.id, recipient]))
  const settle = (result: Attempt | Postponed): void => {
    if (open.delete(result.recipientId)) onAttempt(result)
  }
  const settleAll = (outcome: Outcome, backoff?: HostBackoff): void => {
    for (const { id } of open.values()) settle({ ...attemptOf(draftFor(id, job, services), outcome, job), backoff })
  }
  const postponeAll = (backoff?: HostBackoff): void => {
    for (const { id } of open.values()) settle({ recipientId: id, postponed: true, backoff })
  }
  let leave: (() => void) | null = null
  try {
    const looking = isStsWanted(job) ? (services.sts?.policyOf(policyDomain(job, services), job.at) ?? null) : null
    const way = await findRouteOrBackoff(job, services)
    if ('key' in way) return postponeAll(way)
    if ('outcome' in way) return settleAll(way.outcome, way.backoff)
    const messageFor = messagesOf(job, services)
    if (!messageFor) return settleAll(unclean)
    const mx = way.mx?.records ?? null
    const assigned = withSources(way, job, services)
    const turn = mx && services.providerStops.enter(assigned, job, mx)
    leave = turn && (await turn)
    if (turn && !leave) return postponeAll()
    const hosts = mx ? services.providerStops.allowed(assigned, job, mx) : assigned
    if ('key' in hosts) return postponeAll(hosts)
    const sts = looking === null ? null : await domainStsFor(hosts, looking, { job, services })
    if (sts === 'unreadable') return settleAll(unreadable(policyDomain(job, services)))
    const failed = new Map()
    for (const recipient of job.recipients) {
      const message = await messageFor(recipient)
      const result = await new HostTries(hostsInOrder(hosts, services), recipient, { job, services, message, failed, sts, use }).run()
      const stop = mx === null || 'postponed' in result ? undefined : services.providerStops.note(result, job, mx)
      // The destination need not rest while another address of ours may be used.
      const isRest = stop && mx && !services.providerStops.areSomeOpen(withSources(way, job, services), job, mx)
      settle(isRest ? { ...result, backoff: stop } : result)
      // The others would wait for the same connections, or be refused.
      if (stop) return postponeAll(isRest ? stop : undefined)
      if ('postponed' in result) return postponeAll(result.backoff)
    }
  } catch (error) {
    use.isUncertain = true
    settleAll(ourError(error).outcome)
  } finally {
    leave?.()
  }
}

/** What is set for the recipient's domain stands in the place of what that publishes, but does not vouch for a host, as REQUIRETLS asks. */
const isStsWanted = ({ recipientTls, transfer }: DeliveryJob): boolean => recipientTls === null || transfer?.requireTls === true

/** Whose MTA-STS policy holds: with a smarthost, that of its own name (RFC 8461 3.4). */
const policyDomain = ({ destination }: DeliveryJob, { route }: DeliverServices): string =>
  route.smarthost?.host.toLowerCase() ?? destination

/** What the domain publishes; looked at once more if it lists none of its hosts. */
async function domainStsFor(
  hosts: RouteHost[],
  looking: StsFound | Promise<StsFound>,
  { job, services }: Pick<Transferring, 'job' | 'services'>,
): Promise<DomainSts | 'unreadable' | null> {
  const domain = policyDomain(job, services)
  let policy = await looking
  const listed = policy
  if (listed && listed !== 'unreadable' && 'mx' in listed && !hosts.some(({ name }) => listsMx(listed, name.toLowerCase())))
    policy = (await services.sts?.policyAnew(domain, job.at)) ?? null
  if (policy === null || policy === 'unreadable') return policy
  return 'mx' in policy ? { domain, policy } : { domain, fault: policy }
}

/** The mail must not leave below a policy that is stored. */
const ourError = (error: unknown): { outcome: Outcome } => deferral('internal_error', `4.3.0 an error of this server: ${messageOf(error)}`)

const unreadable = (domain: string): Outcome =>
  deferral('internal_error', `4.3.0 the store cannot tell whether ${domain} has an MTA-STS policy`).outcome

/** Each host with the address to connect from. */
function withSources({ hosts, mx }: FoundRoute, job: DeliveryJob, { sources, providerStops }: DeliverServices): RouteHost[] {
  return sources.assign(hosts, job, performance.now(), mx ? providerStops.restingSources(job, mx.records) : undefined)
}

function hostsInOrder(hosts: RouteHost[], { health, rotation, ipv6Refusals }: DeliverServices): RouteHost[] {
  if (hosts.length === 1) return hosts
  const now = performance.now()
  return ipv6Refusals.asideLast(inOrder(hosts, { failedAt: (host) => health.failedAt(hostKey(host)), now, rotation }), now)
}

/** The hosts of the destination; or its backoff, if look-ups keep failing; or the outcome of the look-up. */
async function findRouteOrBackoff(
  job: DeliveryJob,
  services: DeliverServices,
): Promise<(Route & { backoff?: HostBackoff | undefined }) | HostBackoff> {
  const { health } = services
  const { smarthost } = services.route
  const key = smarthost ? `the smarthost ${smarthost.host}` : `the hosts of ${job.destination}`
  const startedAt = performance.now()
  const backoff = backoffFor(job, health.backoffOf(key, startedAt))
  if (backoff) return backoff
  const route = await findRoute(job, services)
  if ('hosts' in route && isAsked(route)) services.noteGroup(job.destination, destinationGroup(job.destination, route.mx?.records ?? []))
  if ('hosts' in route || route.outcome.type !== 'deferred') {
    health.forget(key)
    return route
  }
  const now = performance.now()
  health.noteFailed(key, route.outcome.reason, { startedAt, now })
  return { ...route, backoff: health.backoffOf(key, now) }
}
