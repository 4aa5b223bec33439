import { messageOf } from '../errors.ts'
import type { Attempt, DeliveryJob, DeliveryRecipient, Outcome, Postponed } from './attempt.ts'
import type { ConnectionPool, Lease } from './connection-pool.ts'
import { isCleanContent } from './data-encoding.ts'
import { SignableMessage } from './dkim-header.ts'
import type { DkimSigner } from './dkim-sign.ts'
import { findRoute } from './find-route.ts'
import type { FindRouteParts } from './find-route.ts'
import type { MxConnection, OutgoingMessage, Transfer } from './mx-connection.ts'
import { ownerOf } from './mx-provider.ts'
import { openConnection } from './open-connection.ts'
import type { ConnectionParts } from './open-connection.ts'
import { bounce, deferral, outcomeOfHosts } from './outcome.ts'
import type { Verdict } from './outcome.ts'
import type { RouteHost } from './route.ts'
import { inSevenBits } from '../message/seven-bit.ts'
import { TrackedMessage } from '../tracking/tracked-message.ts'
import type { TlsTroubles, Try } from './tls-trouble.ts'
import { Transcript } from './transcript.ts'
import type { AttemptFrame } from './transcript.ts'

export interface DeliverParts extends FindRouteParts {
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
  const settleAll = (outcome: Outcome): void => {
    for (const { id } of open.values()) settle(attemptOf(draftFor(id, parts), outcome))
  }
  try {
    const route = await findRoute(job, parts)
    if ('outcome' in route) return settleAll(route.outcome)
    if (!isCleanContent(job.content)) return settleAll(bounce('5.6.0 the message has bare CR or LF, or NUL', 'internal_error'))
    const carried = { ...job, ...inSevenBits(job) }
    const leavingFor = leavingAs(carried, parts)
    const { messageId, bodyType, smtputf8 } = carried
    const failed = new Map()
    for (const recipient of job.recipients) {
      const message = { messageId, ...(await leavingFor(recipient)), bodyType, smtputf8 }
      const result = await attemptAt(parts.pool.inOrder(route.hosts), recipient, { job, parts, message, failed })
      settle(result)
      // The others would wait for the same connections.
      if ('postponed' in result) break
    }
    for (const { id } of open.values()) settle({ recipientId: id, postponed: true })
  } catch (error) {
    settleAll(deferral('internal_error', `4.3.0 an error of this server: ${messageOf(error)}`).outcome)
  }
}

/** The content and what stands before it: all recipients whose message is the same share its signatures. */
function leavingAs(
  job: DeliveryJob,
  parts: DeliverParts,
): (recipient: DeliveryRecipient) => Promise<Pick<OutgoingMessage, 'header' | 'content'>> {
  const tracked = orUntracked(job, parts, () => job.tracking && TrackedMessage.of(job.messageId, job.content, job.tracking))
  if (!tracked) {
    const headerFor = headersOf(job.content, job, parts)
    return async (recipient) => ({ header: await headerFor(recipient), content: job.content })
  }
  return async (recipient) => {
    const content = orUntracked(job, parts, () => cleanOnly(tracked.contentFor(recipient.id))) ?? job.content
    return { header: await headersOf(content, job, parts)(recipient), content }
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
  const { job, failed } = transferring
  const { pool, tlsTroubles } = transferring.parts
  let draft: Draft | null = null
  // Of a host that is tried twice, by TLS and in plain text, the last one counts.
  const outcomes = new Map<RouteHost, Outcome>()
  const tries = tlsTroubles.tries(hosts, job.tls, job.at)
  for (const each of tries) {
    const { host } = each
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
    draft ??= draftFor(recipient.id, transferring.parts)
    const verdict = await attemptHost(each, recipient, { ...transferring, lease, draft })
    if (verdict === 'out of sockets') {
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
  return attemptOf(draft ?? draftFor(recipient.id, transferring.parts), outcomeOfHosts([...outcomes.values()]))
}

/** One host's verdict, over the leased connection, or a new one where the host has closed that. */
async function attemptHost(
  { host, policy, because }: Try,
  recipient: DeliveryRecipient,
  { job, parts, message, failed, lease, draft }: Transferring & { lease: Lease; draft: Draft },
): Promise<Verdict | 'out of sockets'> {
  let connection = lease.connection
  draft.host = host
  if (because !== null) draft.transcript.note(`in plain text: ${because}`)
  try {
    if (connection) {
      draft.connection = connection
      draft.transcript.note(`${host.name} ${host.address}:${host.port}, connection reused`)
      const transfer = await connection.transfer(message, recipient, draft)
      if (transfer !== 'stale') return noteTransfer(transfer, draft, { job, parts })
    }
    const opened = await openConnection(host, policy, parts.connection, draft)
    connection = null
    if (opened === 'out of sockets') return opened
    if ('outcome' in opened) {
      draft.connection = null
      failed.set(host, opened.outcome)
      if (opened.unreachable) parts.pool.noteUnreachable(host)
      // That it failed by TLS was not for TLS.
      if (policy === 'none') parts.tlsTroubles.forget(host)
      return opened
    }
    parts.pool.noteReachable(host)
    connection = opened
    draft.connection = opened
    parts.pool.track(opened)
    const transfer = await opened.transfer(message, recipient, draft)
    // A new connection is never stale.
    if (transfer === 'stale') return deferral('other', `${host.name} (${host.address}): closed the connection`)
    return noteTransfer(transfer, draft, { job, parts })
  } finally {
    lease.release(connection)
  }
}

function noteTransfer(transfer: Exclude<Transfer, 'stale'>, draft: Draft, { job, parts }: Pick<Transferring, 'job' | 'parts'>): Verdict {
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
