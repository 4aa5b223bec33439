import { messageOf } from '../../platform/errors.ts'
import { inSevenBits } from '../../mail/message/seven-bit.ts'
import { TrackedMessage } from '../../readers/tracking/tracked-message.ts'
import type { DeliveryJob, DeliveryRecipient } from './attempt.ts'
import type { ContentRequests } from './content-requests.ts'
import { isCleanContent } from './data-encoding.ts'
import { SignableMessage } from './dkim-header.ts'
import type { DkimSigner } from './dkim-sign.ts'
import type { Body, OutgoingMessage } from './mx-connection.ts'
import { bounce, type HostOutcome } from './outcome.ts'

export interface LeavingServices {
  /** The content of jobs that do not carry it. */
  contents: ContentRequests
  signer: DkimSigner
  /** Called with problems that do not keep mail from leaving. */
  noteFault: (reason: string) => void
  /** Epoch, ms. */
  now: () => number
}

/** Why a message stored like this never leaves. */
export const unclean = bounce('5.6.0 the message has bare CR or LF, or NUL', 'internal_error')
/** Our estimate of what we add to a message (signatures, a trace, fields), bytes, when its size must be declared before it is known. */
const addedAtMost = 4096

/** The message as it leaves for each recipient; null if it must not. A large one is read when a host is ready for it. */
export function messagesOf(
  job: DeliveryJob,
  services: LeavingServices,
): ((recipient: DeliveryRecipient) => OutgoingMessage | Promise<OutgoingMessage>) | null {
  const { messageId, bodyType, smtputf8, content } = job
  const frame = { messageId, bodyType, smtputf8 }
  if (content === 'on request') {
    const signed: Signatures = new Map()
    return (recipient) => ({
      ...frame,
      size: job.size + addedAtMost,
      minSize: job.size,
      body: () => requestedBody(job, recipient, services, signed),
    })
  }
  if (!isCleanContent(content)) return null
  const leavingFor = leavingAs({ ...job, content }, services)
  return async (recipient) => {
    const body = await leavingFor(recipient)
    const size = body.header.length + body.content.length
    return { ...frame, size, minSize: size, body, bodyType: body.bodyType }
  }
}

async function requestedBody(
  job: DeliveryJob,
  recipient: DeliveryRecipient,
  services: LeavingServices,
  signed: Signatures,
): Promise<Body | HostOutcome | null> {
  const content = await services.contents.take(job.id)
  if (content === null) return null
  if (!isCleanContent(content)) return { outcome: unclean, nextHost: false }
  return leavingAs({ ...job, content }, services, signed)(recipient)
}

/** Signatures of a message by the fields added to it: recipients with the same fields share them. */
type Signatures = Map<string, string>

/** A job whose content is present. */
type LoadedJob = DeliveryJob & { content: Uint8Array }

/** The content and what precedes it: all recipients with the same message share its signatures. */
function leavingAs(
  job: LoadedJob,
  services: LeavingServices,
  signed: Signatures = new Map(),
): (recipient: DeliveryRecipient) => Promise<Body> {
  const { content: carried, bodyType } = inSevenBits(job)
  const tracked = orUntracked(job, services, () => job.tracking && TrackedMessage.of(job.messageId, carried, job.tracking))
  if (!tracked) {
    const headerFor = headersOf({ content: carried, signed }, job, services)
    return async (recipient) => ({ header: await headerFor(recipient), content: carried, bodyType })
  }
  return async (recipient) => {
    const content = orUntracked(job, services, () => cleanOnly(tracked.contentFor(recipient.id))) ?? carried
    return { header: await headersOf({ content, signed: new Map() }, job, services)(recipient), content, bodyType }
  }
}

/** A message that cannot be tracked leaves unchanged. */
function orUntracked<T>({ messageId }: DeliveryJob, { noteFault }: LeavingServices, track: () => T): T | null {
  try {
    return track()
  } catch (error) {
    noteFault(`message ${messageId} leaves untracked: ${messageOf(error)}`)
    return null
  }
}

/** @throws Error for a bare CR or LF, or NUL */
function cleanOnly(content: Uint8Array): Uint8Array {
  if (!isCleanContent(content)) throw new Error('its tracked form has bare CR or LF, or NUL')
  return content
}

function headersOf(
  { content, signed }: { content: Uint8Array; signed: Signatures },
  job: DeliveryJob,
  { signer, now }: LeavingServices,
): (recipient: DeliveryRecipient) => Promise<string> {
  const message = new SignableMessage(content)
  return async (recipient) => {
    const added = [...recipient.fields, ...job.fields].filter(({ unless }) => !unless.some((name) => message.names.includes(name)))
    const fields = added.map(({ text }) => text).join('')
    const signatures = signed.get(fields) ?? (await signer.sign(message, { fields, keys: job.signingKeys, now: now() }))
    signed.set(fields, signatures)
    return `${recipient.traceFields}${signatures}${fields}`
  }
}
