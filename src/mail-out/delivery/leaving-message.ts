import { messageOf } from '../../platform/errors.ts'
import { inSevenBits } from '../../mail/message/seven-bit.ts'
import { TrackedMessage } from '../../readers/tracking/tracked-message.ts'
import type { DeliveryJob, DeliveryRecipient } from './attempt.ts'
import type { ContentRequests } from './content-requests.ts'
import { isCleanContent } from './data-encoding.ts'
import { SignableMessage } from './dkim-header.ts'
import type { DkimSigner } from './dkim-sign.ts'
import type { Body, OutgoingMessage } from './outgoing-message.ts'
import { bounce, type HostOutcome } from './outcome.ts'

export interface LeavingServices {
  /** The content of jobs that do not carry it. */
  contents: ContentRequests
  signer: DkimSigner
  /** Called with problems that do not keep mail from leaving. */
  noteFault: (reason: string) => void
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
  const { messageId, bodyType, smtputf8, transfer, at, content } = job
  const frame = { messageId, bodyType, smtputf8, transfer, at }
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
  const unsignedFor = leavingAs(job, content, services)
  return async (recipient) => {
    const body = await signedBody(unsignedFor(recipient), recipient, { job, services })
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
  return signedBody(leavingAs(job, content, services, signed)(recipient), recipient, { job, services })
}

/** Signatures of a message by the fields added to it: recipients with the same fields share them. */
type Signatures = Map<string, string>

/** What leaves, before it is signed. */
interface Unsigned extends Omit<Body, 'header'> {
  message: SignableMessage
  signed: Signatures
}

/** The content by recipient: all recipients with the same content share its signatures. */
function leavingAs(
  job: DeliveryJob,
  given: Uint8Array,
  services: LeavingServices,
  signed: Signatures = new Map(),
): (recipient: DeliveryRecipient) => Unsigned {
  const { content: carried, bodyType } = inSevenBits({ content: given, bodyType: job.bodyType })
  const tracked = orUntracked(job, services, () => job.tracking && TrackedMessage.of(job.messageId, carried, job.tracking))
  if (!tracked) {
    const untracked = { content: carried, bodyType, message: new SignableMessage(carried), signed }
    return () => untracked
  }
  return (recipient) => {
    const content = orUntracked(job, services, () => cleanOnly(tracked.contentFor(recipient.id))) ?? carried
    return { content, bodyType, message: new SignableMessage(content), signed: new Map() }
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

/** With the header that precedes the content. */
async function signedBody(
  { content, bodyType, message, signed }: Unsigned,
  recipient: DeliveryRecipient,
  { job, services: { signer } }: { job: DeliveryJob; services: LeavingServices },
): Promise<Body> {
  let fields = ''
  for (const added of [recipient.fields, job.fields]) {
    for (const { text, unless } of added) if (!unless.some((name) => message.names.includes(name))) fields += text
  }
  const signatures = signed.get(fields) ?? (await signer.sign(message, { fields, keys: job.signingKeys, now: job.at }))
  signed.set(fields, signatures)
  return { header: `${recipient.traceFields}${signatures}${fields}`, content, bodyType }
}
