import { messageOf } from '../errors.ts'
import type { Attempt, DeliveryJob, DeliveryRecipient, HostRest, Outcome, Postponed } from './attempt.ts'
import type { ConnectionPool, Lease } from './connection-pool.ts'
import type { ContentRequests } from './content-requests.ts'
import { isCleanContent } from './data-encoding.ts'
import { SignableMessage } from './dkim-header.ts'
import type { DkimSigner } from './dkim-sign.ts'
import { findRoute } from './find-route.ts'
import type { FindRouteParts } from './find-route.ts'
import type { HostHealth } from './host-health.ts'
import type { Body, MxConnection, OutgoingMessage, Transfer } from './mx-connection.ts'
import { ownerOf } from './mx-provider.ts'
import { openConnection } from './open-connection.ts'
import type { ConnectionParts } from './open-connection.ts'
import { bounce, deferral, outcomeOfHosts } from './outcome.ts'
import type { Verdict } from './outcome.ts'
import { hostKey } from './route.ts'
import type { Route, RouteHost } from './route.ts'
import { inSevenBits } from '../message/seven-bit.ts'
import { TrackedMessage } from '../tracking/tracked-message.ts'
import type { TlsTroubles, Try } from './tls-trouble.ts'
import { Transcript } from './transcript.ts'
import type { AttemptFrame } from './transcript.ts'

export interface DeliverParts extends FindRouteParts {
  health: HostHealth
  /** The content of jobs that it does not go along with. */
  contents: ContentRequests
  connection: ConnectionParts
  pool: ConnectionPool
  tlsTroubles: TlsTroubles
  signer: DkimSigner
  /** Told of what went wrong and keeps no mail from leaving. */
  noteFault: (reason: string) => void
  /** Epoch, ms. */
  now: () => number
}

type OnAttempt = (result: Attempt | Postponed) => void

interface Transferring {
  job: DeliveryJob
  message: OutgoingMessage
  parts: DeliverParts
  /** What became of hosts that this job need not try again. */
  failed: Map<RouteHost, Outcome>
}

/** An attempt as it grows. */
interface Draft extends AttemptFrame {
  recipientId: string
  startedAt: number
  beganAt: number
  connection: MxConnection | null
  host: RouteHost | null
  selectors: string[]
}

/**
 * One attempt to deliver one message to the recipients of one domain.
 *
 * 1. route       the smarthost, or MX hosts in order of preference (RFC 5321 5.1)
 * 2. TLS policy  what the message demands of the connection (RFC 7435)
 * 3. encode      what not every host can take, and track
 * 4. sign        DKIM over the bytes about to leave
 * 5. transfer    host by host until one answers for the recipient; a transaction for each recipient
 *
 * Every recipient is settled once, by `onAttempt`; an error that we do not understand is a deferral, because a mistake
 * of ours must never lose mail. Repeating is the queue's business. Never rejects.
 */
export async function deliver(job: DeliveryJob, onAttempt: OnAttempt, parts: DeliverParts): Promise<void> {
  const open = new Map(job.recipients.map((recipient) => [recipient.id, recipient]))
  const settle = (result: Attempt | Postponed): void => {
    if (open.delete(result.recipientId)) onAttempt(result)
  }
  const settleAll = (outcome: Outcome, rest?: HostRest): void => {
    for (const { id } of open.values()) settle({ ...attemptOf(draftFor(id, parts), outcome), rest })
  }
  const postponeAll = (rest?: HostRest): void => {
    for (const { id } of open.values()) settle({ recipientId: id, postponed: true, rest })
  }
  try {
    const way = await findWay(job, parts)
    if ('key' in way) return postponeAll(way)
    if ('outcome' in way) return settleAll(way.outcome, way.rest)
    const messageFor = messagesOf(job, parts)
    if (!messageFor) return settleAll(unclean)
    const failed = new Map()
    for (const recipient of job.recipients) {
      const message = await messageFor(recipient)
      const result = await attemptAt(parts.pool.inOrder(way.hosts), recipient, { job, parts, message, failed })
      settle(result)
      // The others would wait for the same connections.
      if ('postponed' in result) return postponeAll(result.rest)
    }
  } catch (error) {
    settleAll(deferral('internal_error', `4.3.0 an error of this server: ${messageOf(error)}`).outcome)
  }
}

/** The hosts of the destination; or that it rests, because it was not to be found where they are; or what became of looking for them. */
async function findWay(job: DeliveryJob, parts: DeliverParts): Promise<Route & { rest?: HostRest | undefined } | HostRest> {
  const { health } = parts
  const key = `the hosts of ${job.destination}`
  const startedAt = performance.now()
  const rest = job.isProbe ? undefined : health.restOf(key, startedAt)
  if (rest) return rest
  const route = await findRoute(job, parts)
  if ('hosts' in route || route.outcome.type !== 'deferred') {
    health.forget(key)
    return route
  }
  const now = performance.now()
  health.noteFailed(key, route.outcome.reason, { startedAt, now })
  return { ...route, rest: health.restOf(key, now) }
}

const unclean = bounce('5.6.0 the message has bare CR or LF, or NUL', 'internal_error')
/** What we add to a message, bytes, where its size must be told before it is known: signatures, a trace, fields. */
const addedAtMost = 4096

/** The message as it leaves for each recipient; null where it must not. One that is large is read when a host is ready for it. */
function messagesOf(job: DeliveryJob, parts: DeliverParts): ((recipient: DeliveryRecipient) => OutgoingMessage | Promise<OutgoingMessage>) | null {
  const { messageId, bodyType, smtputf8, content } = job
  const frame = { messageId, bodyType, smtputf8 }
  if (content === 'on request') {
    return (recipient) => ({ ...frame, size: job.size + addedAtMost, leastSize: job.size, body: () => requestedBody(job, recipient, parts) })
  }
  if (!isCleanContent(content)) return null
  const leavingFor = leavingAs({ ...job, content }, parts)
  return async (recipient) => {
    const body = await leavingFor(recipient)
    const size = body.header.length + body.content.length
    return { ...frame, size, leastSize: size, body, bodyType: body.bodyType }
  }
}

async function requestedBody(job: DeliveryJob, recipient: DeliveryRecipient, parts: DeliverParts): Promise<Body | Verdict | null> {
  const content = await parts.contents.take(job.id)
  if (content === null) return null
  if (!isCleanContent(content)) return { outcome: unclean, nextHost: false }
  return leavingAs({ ...job, content }, parts)(recipient)
}

/** A job whose content is there. */
type LoadedJob = DeliveryJob & { content: Uint8Array }

/** The content and what stands before it: all recipients whose message is the same share its signatures. */
function leavingAs(job: LoadedJob, parts: DeliverParts): (recipient: DeliveryRecipient) => Promise<Body> {
  const { content: carried, bodyType } = inSevenBits(job)
  const tracked = orUntracked(job, parts, () => job.tracking && TrackedMessage.of(job.messageId, carried, job.tracking))
  if (!tracked) {
    const headerFor = headersOf(carried, job, parts)
    return async (recipient) => ({ header: await headerFor(recipient), content: carried, bodyType })
  }
  return async (recipient) => {
    const content = orUntracked(job, parts, () => cleanOnly(tracked.contentFor(recipient.id))) ?? carried
    return { header: await headersOf(content, job, parts)(recipient), content, bodyType }
  }
}

/** A message that cannot be tracked leaves as it is. */
function orUntracked<T>({ messageId }: DeliveryJob, { noteFault }: DeliverParts, track: () => T): T | null {
  try {
    return track()
  } catch (error) {
    noteFault(`message ${messageId} leaves untracked: ${messageOf(error)}`)
    return null
  }
}

/** @throws Error where there is a bare CR or LF, or NUL */
function cleanOnly(content: Uint8Array): Uint8Array {
  if (!isCleanContent(content)) throw new Error('its tracked form has bare CR or LF, or NUL')
  return content
}

function headersOf(
  content: Uint8Array,
  job: DeliveryJob,
  { signer, now }: DeliverParts,
): (recipient: DeliveryRecipient) => Promise<string> {
  const message = new SignableMessage(content)
  const signed = new Map<string, string>()
  return async (recipient) => {
    const added = [...recipient.fields, ...job.fields].filter(({ unless }) => !unless.some((name) => message.names.has(name)))
    const fields = added.map(({ text }) => text).join('')
    const signatures = signed.get(fields) ?? (await signer.sign(message, { fields, keys: job.signingKeys, now: now() }))
    signed.set(fields, signatures)
    return `${recipient.traceFields}${signatures}${fields}`
  }
}

async function attemptAt(hosts: RouteHost[], recipient: DeliveryRecipient, transferring: Transferring): Promise<Attempt | Postponed> {
  const { job, parts, failed } = transferring
  const { pool, tlsTroubles } = parts
  let draft: Draft | null = null
  // Of a host that is tried twice, by TLS and in plain text, the last one counts.
  const outcomes = new Map<RouteHost, Outcome>()
  const tries = tlsTroubles.tries(hosts, job.tls, job.at)
  for (const each of tries) {
    const { host } = each
    // What has just failed by TLS may be tried in plain text although it rests since.
    const isResting = (): boolean => !outcomes.has(host) && restOf(host, transferring) !== undefined
    if (isResting()) continue
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
    // It may have been found to be down meanwhile.
    if (!lease.connection && isResting()) {
      lease.release(null)
      continue
    }
    draft ??= draftFor(recipient.id, parts)
    const verdict = await attemptHost(each, recipient, { ...transferring, lease, draft })
    if (typeof verdict === 'string') {
      if (outcomes.size === 0) return { recipientId: recipient.id, postponed: true }
      break
    }
    outcomes.delete(host)
    outcomes.set(host, verdict.outcome)
    const inPlain = tlsTroubles.after(each, verdict, job.at)
    if (!verdict.nextHost) return attemptOf(draft, verdict.outcome)
    if (inPlain) {
      failed.delete(host)
      tries.push(inPlain)
    }
    if (verdict.nextHost === 'of another owner') {
      for (const other of hosts) if (ownerOf(other.name) === ownerOf(host.name)) failed.set(other, verdict.outcome)
    }
    if (performance.now() >= draft.endsAt) break
  }
  const rest = restOfAll(hosts, parts)
  if (outcomes.size === 0 && rest) return { recipientId: recipient.id, postponed: true, rest }
  return { ...attemptOf(draft ?? draftFor(recipient.id, parts), outcomeOfHosts([...outcomes.values()])), rest }
}

const restOf = (host: RouteHost, { job, parts }: Transferring): HostRest | undefined =>
  job.isProbe ? undefined : parts.health.restOf(hostKey(host), performance.now())

/** Where all hosts rest: the rest that is over first. */
function restOfAll(hosts: RouteHost[], { health }: DeliverParts): HostRest | undefined {
  let first: HostRest | undefined
  for (const host of hosts) {
    const rest = health.restOf(hostKey(host), performance.now())
    if (!rest) return undefined
    if (!first || rest.forMs < first.forMs) first = rest
  }
  return first
}

/** One host's verdict, over the leased connection, or a new one where the host has closed that. */
async function attemptHost(
  { host, policy, because }: Try,
  recipient: DeliveryRecipient,
  { job, parts, message, failed, lease, draft }: Transferring & { lease: Lease; draft: Draft },
): Promise<Verdict | 'out of sockets' | 'no room'> {
  let connection = lease.connection
  draft.host = host
  if (because !== null) draft.transcript.note(`in plain text: ${because}`)
  try {
    const written = (): void => parts.contents.giveBack(job.id)
    if (connection) {
      draft.connection = connection
      connection.onWritten = written
      draft.transcript.note(`${host.name} ${host.address}:${host.port}, connection reused`)
      const transfer = await connection.transfer(message, recipient, draft)
      if (transfer !== 'stale') return noteTransfer(transfer, draft, { job, parts })
    }
    const startedAt = performance.now()
    const opened = await openConnection(host, policy, parts.connection, draft)
    connection = null
    if (opened === 'out of sockets') return opened
    if ('outcome' in opened) {
      draft.connection = null
      failed.set(host, opened.outcome)
      if (opened.unreachable) parts.pool.noteUnreachable(host)
      // That it failed by TLS was not for TLS.
      if (policy === 'none') parts.tlsTroubles.forget(host)
      noteFailure(opened, host, startedAt, parts)
      return opened
    }
    parts.pool.noteReachable(host)
    parts.health.noteAnswered(hostKey(host), performance.now())
    connection = opened
    draft.connection = opened
    opened.onWritten = written
    parts.pool.track(opened)
    const transfer = await opened.transfer(message, recipient, draft)
    // A new connection is never stale.
    if (transfer === 'stale') return deferral('other', `${host.name} (${host.address}): closed the connection`)
    return noteTransfer(transfer, draft, { job, parts })
  } finally {
    parts.contents.giveBack(job.id)
    lease.release(connection)
  }
}

/** The host could not be talked to, whatever the message; what TLS policy keeps back says nothing of other mail. */
function noteFailure({ outcome }: Verdict, host: RouteHost, startedAt: number, { health }: DeliverParts): void {
  if (outcome.type !== 'deferred' || (outcome.category === 'policy' && outcome.reply === null)) return
  health.noteFailed(hostKey(host), outcome.reason, { startedAt, now: performance.now() })
}

function noteTransfer(
  transfer: Exclude<Transfer, 'stale'>,
  draft: Draft,
  { job, parts }: Pick<Transferring, 'job' | 'parts'>,
): Verdict | 'no room' {
  if (transfer === 'no room') return transfer
  const { loginGate } = parts.connection
  if (transfer.lacksLogin && transfer.outcome.type === 'deferred') loginGate.refused(transfer.outcome.reason)
  else if (draft.host?.smarthost && transfer.outcome.type === 'delivered') loginGate.taken()
  if (transfer.sent) draft.selectors = job.signingKeys.map(({ selector }) => selector)
  return transfer
}

const draftFor = (recipientId: string, { now, connection }: DeliverParts): Draft => ({
  recipientId,
  startedAt: now(),
  beganAt: performance.now(),
  endsAt: performance.now() + connection.timeouts.attempt,
  transcript: new Transcript(),
  connection: null,
  host: null,
  selectors: [],
})

function attemptOf(draft: Draft, outcome: Outcome): Attempt {
  const tls = draft.connection?.tls
  return {
    recipientId: draft.recipientId,
    outcome,
    startedAt: draft.startedAt,
    durationMs: Math.round(performance.now() - draft.beganAt),
    mxHost: draft.host?.name ?? null,
    address: draft.host?.address ?? null,
    tls: tls ? { version: tls.version, cipher: tls.cipher, verified: tls.verified } : null,
    selectors: draft.selectors,
    transcript: JSON.stringify(draft.transcript.lines),
  }
}
