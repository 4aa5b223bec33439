import type { DeliveryRecipient } from './attempt.ts'
import type { Call } from './host-call.ts'
import type { Lease } from './connection-pool.ts'
import type { Draft } from './draft.ts'
import type { Transfer } from './mx-connection.ts'
import type { OutgoingMessage } from './outgoing-message.ts'
import { openConnection } from './open-connection.ts'
import { deferral, type HostOutcome } from './outcome.ts'
import type { LoginGate } from './smarthost-login.ts'
import { hostKey, hostText, type RouteHost } from './route.ts'
import type { Try } from './tls-trouble.ts'
import type { DeliverServices, Transferring } from './transferring.ts'

/** What a host is asked to take over a new connection. */
interface Asking {
  draft: Draft
  message: OutgoingMessage
  recipient: DeliveryRecipient
  /** Called once the content has left this process, or never will. */
  written: () => void
  /** A socket that is connected to the host already. */
  connected: Call | null
}

/** A `HostOutcome` alone: no connection could be opened. */
type Asked = Exclude<Transfer, 'stale'> | HostOutcome | 'out of sockets' | 'lost source'

/**
 * One host's verdict, over the leased connection, or a new one if the host has closed that. `connected`: a socket already connected to it.
 */
export async function askHost(
  { each, lease, connected }: { each: Try; lease: Lease; connected: Call | null },
  recipient: DeliveryRecipient,
  { job, services, message, failed, use }: Transferring,
  draft: Draft,
): Promise<HostOutcome | 'out of sockets' | 'lost source' | 'no room' | 'not ours'> {
  const { host, because } = each
  draft.last = each
  draft.connection = lease.connection
  if (because !== null) draft.transcript.note(`in plain text: ${because}`)
  const written = (): void => {
    use.done++
    services.contents.giveBack(job.id)
  }
  try {
    if (lease.connection) {
      lease.connection.onWritten = written
      draft.transcript.note(`${hostText(host)}, connection reused`)
      const transfer = await lease.connection.transfer(message, recipient, draft)
      if (transfer !== 'stale') return noteTransfer(transfer, draft, { job, services, use })
    }
    const asked = await askAnew(each, { draft, message, recipient, written, connected }, services)
    if (asked === 'out of sockets' || asked === 'lost source') return asked
    if (typeof asked === 'string' || 'sent' in asked) return noteTransfer(asked, draft, { job, services, use })
    failed.set(host, asked.outcome)
    return asked
  } finally {
    services.contents.giveBack(job.id)
    lease.release(draft.connection)
  }
}

/** Over a new connection; and over another, one command at a time, if the host may have dropped what was sent ahead. */
async function askAnew(each: Try, asking: Asking, services: DeliverServices): Promise<Asked> {
  const { draft } = asking
  const { pipelining } = services.connection
  const first = await askOnce(each, asking, services)
  const isSuspect = typeof first !== 'string' && 'hasLostCommands' in first && first.hasLostCommands === true
  if (!isSuspect || performance.now() >= draft.endsAt || !pipelining.suspect(each.host, performance.now())) return first
  if (draft.connection) services.pool.untrack(draft.connection)
  draft.transcript.note('again, one command at a time: the host may drop what is sent ahead')
  const second = await askOnce(each, { ...asking, connected: null }, services)
  const hasHelped = typeof second !== 'string' && 'sent' in second && (second.sent || second.outcome.reply !== null)
  pipelining.judge(each.host, hasHelped, performance.now())
  return second
}

async function askOnce({ host, policy }: Try, asking: Asking, services: DeliverServices): Promise<Asked> {
  const { draft, message, recipient, written, connected } = asking
  const startedAt = performance.now()
  draft.connection = null
  const opened = await openConnection(host, policy, services.connection, { ...draft, connected })
  if (opened === 'out of sockets') return opened
  if ('outcome' in opened) {
    return noteUnopened(opened, { host, policy }, startedAt, services) ? 'lost source' : opened
  }
  draft.connection = opened
  opened.onWritten = written
  services.pool.track(opened)
  const transfer = await opened.transfer(message, recipient, draft)
  // A new connection is never stale.
  if (transfer === 'stale') return { ...deferral('other', `${host.name} (${host.address}): closed the connection`), sent: false }
  noteAnswer(transfer, host, startedAt, services)
  return transfer
}

/** What follows from a host that no connection could be opened to. True if another source address is chosen next, because this one is lost. */
export function noteUnopened(
  verdict: HostOutcome,
  { host, policy }: Pick<Try, 'host' | 'policy'>,
  startedAt: number,
  services: DeliverServices,
): boolean {
  if (host.source && verdict.lacksSource) {
    const isNews = services.sources.noteMissing(host.source, performance.now())
    if (isNews) services.noteFault(`this machine does not have ${host.source.address} of delivery.source_addresses`)
    return isNews
  }
  // It fails in plain text too, so TLS was not the cause.
  if (policy.mode === 'plain') services.tlsTroubles.forget(host)
  noteFailure(verdict, host, startedAt, services)
  return false
}

/** The host could not be talked to, whatever the message; mail that TLS policy holds back says nothing about other mail. */
function noteFailure({ outcome }: HostOutcome, host: RouteHost, startedAt: number, { health }: DeliverServices): void {
  if (outcome.type !== 'deferred' || (outcome.category === 'policy' && outcome.reply === null)) return
  health.noteFailed(hostKey(host), outcome.reason, { startedAt, now: performance.now() })
}

/** The host has answered, unless it has refused all of us for now, with 421 to whatever came before the message. */
function noteAnswer(transfer: Exclude<Transfer, 'stale'>, host: RouteHost, startedAt: number, services: DeliverServices): void {
  const isRefusal = typeof transfer !== 'string' && !transfer.sent && transfer.outcome.reply?.code === 421
  if (isRefusal) noteFailure(transfer, host, startedAt, services)
  else services.health.noteAnswered(hostKey(host), performance.now())
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
  const smarthost = draft.last?.host.smarthost
  if (smarthost) noteLogin(transfer, services.connection.loginGates.of(smarthost))
  if (transfer.sent) {
    use.begun++
    draft.selectors = job.signingKeys.map(({ selector }) => selector)
  }
  return transfer
}

/** Whether the smarthost still takes our mail. */
function noteLogin({ outcome, lacksLogin }: HostOutcome, gate: LoginGate): void {
  if (lacksLogin && outcome.type === 'deferred') gate.refused(outcome.reason)
  else if (outcome.type === 'delivered') gate.taken()
}
