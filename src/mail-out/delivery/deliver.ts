import { messageOf } from '../../platform/errors.ts'
import type { Attempt, DeliveryJob, DeliveryRecipient, HostBackoff, Outcome, Postponed } from './attempt.ts'
import type { ConnectionPool, Lease } from './connection-pool.ts'
import { findRoute, type FindRouteServices } from './find-route.ts'
import type { HostHealth } from './host-health.ts'
import { messagesOf, unclean, type LeavingServices } from './leaving-message.ts'
import type { MxConnection, OutgoingMessage, Transfer } from './mx-connection.ts'
import { ownerOf } from './mx-provider.ts'
import { openConnection, type ConnectionServices } from './open-connection.ts'
import { deferral, outcomeOfHosts, type HostOutcome } from './outcome.ts'
import { hostKey, type Route, type RouteHost } from './route.ts'
import { textOfTry, type TlsTroubles, type Try } from './tls-trouble.ts'
import { Transcript, type AttemptContext } from './transcript.ts'
import type { Demands } from './transport-policy.ts'

export interface DeliverServices extends FindRouteServices, LeavingServices {
  health: HostHealth
  connection: ConnectionServices
  pool: ConnectionPool
  tlsTroubles: TlsTroubles
}

type OnAttempt = (result: Attempt | Postponed) => void

interface Transferring {
  job: DeliveryJob
  message: OutgoingMessage
  services: DeliverServices
  /** What happened at hosts that this job need not try again. */
  failed: Map<RouteHost, Outcome>
  use: ContentUse
}

/** How often sending the content of a job began, and how often its memory was no longer needed for that. */
interface ContentUse {
  begun: number
  done: number
  /** After an error that is not understood, nobody knows. */
  isUncertain: boolean
}

/** An attempt under construction. */
interface Draft extends AttemptContext {
  recipientId: string
  beganAt: number
  connection: MxConnection | null
  /** How the last host was tried. */
  last: Try | null
  selectors: string[]
}

/**
 * One attempt to deliver one message to the recipients of one domain.
 *
 * 1. route       the smarthost, or MX hosts by preference (RFC 5321 5.1)
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
  await deliverAll(job, onAttempt, { services, use })
  return use.begun === use.done && !use.isUncertain
}

async function deliverAll(
  job: DeliveryJob,
  onAttempt: OnAttempt,
  { services, use }: Pick<Transferring, 'services' | 'use'>,
): Promise<void> {
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
  try {
    const way = await findRouteOrBackoff(job, services)
    if ('key' in way) return postponeAll(way)
    if ('outcome' in way) return settleAll(way.outcome, way.backoff)
    const messageFor = messagesOf(job, services)
    if (!messageFor) return settleAll(unclean)
    const failed = new Map()
    for (const recipient of job.recipients) {
      const message = await messageFor(recipient)
      const result = await attemptAt(services.pool.inOrder(way.hosts), recipient, { job, services, message, failed, use })
      settle(result)
      // The others would wait for the same connections.
      if ('postponed' in result) return postponeAll(result.backoff)
    }
  } catch (error) {
    use.isUncertain = true
    settleAll(deferral('internal_error', `4.3.0 an error of this server: ${messageOf(error)}`).outcome)
  }
}

/** The hosts of the destination; or its backoff, if look-ups keep failing; or the outcome of the look-up. */
async function findRouteOrBackoff(
  job: DeliveryJob,
  services: DeliverServices,
): Promise<(Route & { backoff?: HostBackoff | undefined }) | HostBackoff> {
  const { health } = services
  const key = `the hosts of ${job.destination}`
  const startedAt = performance.now()
  const backoff = job.isProbe ? undefined : health.backoffOf(key, startedAt)
  if (backoff) return backoff
  const route = await findRoute(job, services)
  if ('hosts' in route || route.outcome.type !== 'deferred') {
    health.forget(key)
    return route
  }
  const now = performance.now()
  health.noteFailed(key, route.outcome.reason, { startedAt, now })
  return { ...route, backoff: health.backoffOf(key, now) }
}

async function attemptAt(hosts: RouteHost[], recipient: DeliveryRecipient, transferring: Transferring): Promise<Attempt | Postponed> {
  const { job, services, failed } = transferring
  const { pool, tlsTroubles } = services
  let draft: Draft | null = null
  // If a host is tried twice, over TLS and in plain text, the later outcome counts.
  const outcomes = new Map<RouteHost, Outcome>()
  const tries = tlsTroubles.tries(hosts, job, job.at)
  for (const each of tries) {
    const { host } = each
    // A host that has just failed over TLS may be tried in plain text, even if that failure put it into backoff.
    const isInBackoff = (): boolean => !outcomes.has(host) && backoffOfHost(host, transferring) !== undefined
    if (isInBackoff()) continue
    const known = failed.get(host)
    if (known) {
      outcomes.set(host, known)
      continue
    }
    const lease = await pool.acquire(host, each.policy)
    if (!lease) {
      if (!draft) return { recipientId: recipient.id, postponed: true }
      break
    }
    // Another job may have found it down in the meantime.
    if (!lease.connection && isInBackoff()) {
      lease.release(null)
      continue
    }
    draft ??= draftFor(recipient.id, job, services)
    const verdict = await attemptHost(each, recipient, transferring, { lease, draft })
    if (typeof verdict === 'string') {
      if (outcomes.size === 0) return { recipientId: recipient.id, postponed: true }
      break
    }
    outcomes.delete(host)
    outcomes.set(host, verdict.outcome)
    if (verdict.tlsTrouble) services.connection.sessions.forget(host)
    const inPlain = tlsTroubles.after(each, verdict, job.at)
    if (!verdict.nextHost) return attemptOf(draft, verdict.outcome, job)
    if (inPlain) {
      failed.delete(host)
      tries.push(inPlain)
    }
    if (verdict.nextHost === 'of another owner') {
      for (const other of hosts) if (ownerOf(other.name) === ownerOf(host.name)) failed.set(other, verdict.outcome)
    }
    if (performance.now() >= draft.endsAt) break
  }
  const backoff = backoffOfAll(hosts, services)
  if (outcomes.size === 0 && backoff) return { recipientId: recipient.id, postponed: true, backoff }
  return { ...attemptOf(draft ?? draftFor(recipient.id, job, services), outcomeOfHosts([...outcomes.values()]), job), backoff }
}

const backoffOfHost = (host: RouteHost, { job, services }: Transferring): HostBackoff | undefined =>
  job.isProbe ? undefined : services.health.backoffOf(hostKey(host), performance.now())

/** If all hosts rest: the rest that ends first. */
function backoffOfAll(hosts: RouteHost[], { health }: DeliverServices): HostBackoff | undefined {
  let first: HostBackoff | undefined
  for (const host of hosts) {
    const backoff = health.backoffOf(hostKey(host), performance.now())
    if (!backoff) return undefined
    if (!first || backoff.forMs < first.forMs) first = backoff
  }
  return first
}

/** One host's verdict, over the leased connection, or a new one if the host has closed that. */
async function attemptHost(
  each: Try,
  recipient: DeliveryRecipient,
  { job, services, message, failed, use }: Transferring,
  { lease, draft }: { lease: Lease; draft: Draft },
): Promise<HostOutcome | 'out of sockets' | 'no room' | 'not ours'> {
  const { host, policy, because } = each
  let connection = lease.connection
  draft.last = each
  if (because !== null) draft.transcript.note(`in plain text: ${because}`)
  try {
    const written = (): void => {
      use.done++
      services.contents.giveBack(job.id)
    }
    if (connection) {
      draft.connection = connection
      connection.onWritten = written
      draft.transcript.note(`${host.name} ${host.address}:${host.port}, connection reused`)
      const transfer = await connection.transfer(message, recipient, draft)
      if (transfer !== 'stale') return noteTransfer(transfer, draft, { job, services, use })
    }
    const startedAt = performance.now()
    const opened = await openConnection(host, policy, services.connection, draft)
    connection = null
    if (opened === 'out of sockets') return opened
    if ('outcome' in opened) {
      draft.connection = null
      failed.set(host, opened.outcome)
      if (opened.unreachable) services.pool.noteUnreachable(host)
      // It fails in plain text too, so TLS was not the cause.
      if (policy.mode === 'plain') services.tlsTroubles.forget(host)
      noteFailure(opened, host, startedAt, services)
      return opened
    }
    services.pool.noteReachable(host)
    services.health.noteAnswered(hostKey(host), performance.now())
    connection = opened
    draft.connection = opened
    opened.onWritten = written
    services.pool.track(opened)
    const transfer = await opened.transfer(message, recipient, draft)
    // A new connection is never stale.
    if (transfer === 'stale') return deferral('other', `${host.name} (${host.address}): closed the connection`)
    return noteTransfer(transfer, draft, { job, services, use })
  } finally {
    services.contents.giveBack(job.id)
    lease.release(connection)
  }
}

/** The host could not be talked to, whatever the message; mail that TLS policy holds back says nothing about other mail. */
function noteFailure({ outcome }: HostOutcome, host: RouteHost, startedAt: number, { health }: DeliverServices): void {
  if (outcome.type !== 'deferred' || (outcome.category === 'policy' && outcome.reply === null)) return
  health.noteFailed(hostKey(host), outcome.reason, { startedAt, now: performance.now() })
}

function noteTransfer(
  transfer: Exclude<Transfer, 'stale'>,
  draft: Draft,
  { job, services, use }: Pick<Transferring, 'job' | 'services' | 'use'>,
): HostOutcome | 'no room' | 'not ours' {
  if (transfer === 'no room') return transfer
  if (transfer === 'not ours') {
    // Some of the content may be on its way.
    use.isUncertain = true
    return transfer
  }
  const { loginGate } = services.connection
  if (transfer.lacksLogin && transfer.outcome.type === 'deferred') loginGate.refused(transfer.outcome.reason)
  else if (draft.last?.host.smarthost && transfer.outcome.type === 'delivered') loginGate.taken()
  if (transfer.sent) {
    use.begun++
    draft.selectors = job.signingKeys.map(({ selector }) => selector)
  }
  return transfer
}

const draftFor = (recipientId: string, { at }: DeliveryJob, { connection }: DeliverServices): Draft => ({
  recipientId,
  at,
  beganAt: performance.now(),
  endsAt: performance.now() + connection.timeouts.attempt,
  transcript: new Transcript(),
  connection: null,
  last: null,
  selectors: [],
})

function attemptOf(draft: Draft, outcome: Outcome, demands: Demands): Attempt {
  const { last, connection } = draft
  return {
    recipientId: draft.recipientId,
    outcome,
    durationMs: Math.round(performance.now() - draft.beganAt),
    mxHost: last?.host.name ?? null,
    address: last?.host.address ?? null,
    tls: connection?.tlsText ?? textOfTry(last, demands),
    transport: connection?.transport ?? null,
    selectors: draft.selectors,
    transcript: JSON.stringify(draft.transcript.lines),
  }
}
