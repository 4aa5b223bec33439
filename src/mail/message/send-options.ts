import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { fieldNamed, fieldsNamed, type HeaderField } from './header-block.ts'
import { expiresInFault, idempotencyKeyFault, metadataFault, parseScheduledAt, tagsFault, topicFault, type Tag } from './send-limits.ts'
import { storedTracking, trackingColumn, type TrackingWish } from './tracking-options.ts'
import { storedTransfer, transferColumn, type TransferOptions } from './transfer-options.ts'

/** What a submitter may request in addition to the envelope and the content. */
export interface SendOptions {
  tags: Tag[]
  metadata: Record<string, string>
  /** The template that the message was made from. */
  templateId: string | null
  /** What readers can unsubscribe from: '' if the mail has no topic, null if they cannot unsubscribe. */
  unsubscribeTopic: string | null
  /** Omitted members default to the domain's setting. */
  tracking: TrackingWish
  /** Epoch, ms; null: at once. */
  scheduledAt: number | null
  /** Seconds after which an undelivered recipient is given up; null: the setting `delivery.give_up_after`. */
  expiresIn: number | null
  /** Null: nothing. */
  transfer: TransferOptions | null
}

/** What applies if the submitter requests nothing. */
export const defaultOptions: SendOptions = {
  tags: [],
  metadata: {},
  templateId: null,
  unsubscribeTopic: null,
  tracking: {},
  scheduledAt: null,
  expiresIn: null,
  transfer: null,
}

/** The columns of `message` that store the options. */
export const optionColumns = (options: SendOptions, tracking: TrackingWish) => ({
  tags: JSON.stringify(options.tags),
  metadata: JSON.stringify(options.metadata),
  template_id: options.templateId,
  unsubscribe_topic: options.unsubscribeTopic,
  tracking: trackingColumn(tracking),
  scheduled_at: options.scheduledAt,
  expires_in: options.expiresIn,
  transfer: transferColumn(options.transfer),
})

export const storedOptions = (row: ReturnType<typeof optionColumns>): SendOptions => ({
  tags: JSON.parse(row.tags) as Tag[],
  metadata: JSON.parse(row.metadata) as Record<string, string>,
  templateId: row.template_id,
  unsubscribeTopic: row.unsubscribe_topic,
  tracking: storedTracking(row.tracking) ?? { opens: false, clicks: false },
  scheduledAt: row.scheduled_at,
  expiresIn: row.expires_in,
  transfer: storedTransfer(row.transfer),
})

type Given = Partial<SendOptions> & { idempotencyKey?: string }
type Fault = { fault: string }

/** Parsers for the header fields with options, by name in lower case. These fields never leave the server. */
const fieldReaders: Record<string, (value: string, now: number) => Given | Fault> = {
  'x-tags': readTags,
  'x-metadata': readMetadata,
  'idempotency-key': (value) => {
    const fault = idempotencyKeyFault(value)
    return fault === null ? { idempotencyKey: value } : { fault: `Idempotency-Key: ${fault}` }
  },
  'x-scheduled-at': (value, now) => {
    const at = parseScheduledAt(value, now)
    return typeof at === 'object' && at !== null ? { fault: `X-Scheduled-At: ${at.fault}` } : { scheduledAt: at }
  },
  'x-expires-in': (value) => {
    const expiresIn = /^\d{1,9}$/.test(value) ? Number(value) : NaN
    const fault = expiresInFault(expiresIn)
    return fault === null ? { expiresIn } : { fault: `X-Expires-In: ${fault}` }
  },
  'x-unsubscribe': readUnsubscribe,
  'x-tracking': readTracking,
}

const readers = Object.entries(fieldReaders)

export const optionFieldNames = Object.keys(fieldReaders)
/** RFC 8689 5: an option too, but one that goes on with the message. */
const tlsRequiredField = 'tls-required'
const optionNames = new Set([...optionFieldNames, tlsRequiredField])

/** Parses the option fields. Each may occur only once; a malformed one is refused, never ignored. */
export function readOptionFields(
  fields: readonly HeaderField[],
  now: number,
): { options: SendOptions; idempotencyKey: string | null } | Fault {
  if (!fields.some(({ key }) => optionNames.has(key))) return { options: { ...defaultOptions }, idempotencyKey: null }
  const given: Given = {}
  for (const [name, read] of readers) {
    const field = fieldNamed(fields, name)
    if (!field) continue
    if (fieldsNamed(fields, name).length > 1) return { fault: `The header has more than one ${field.name} field.` }
    // Mail libraries encode values that are not ASCII, and also long ones.
    const option = read(decodeHeaderText(field.value).trim(), now)
    if ('fault' in option) return option
    Object.assign(given, option)
  }
  const { idempotencyKey = null, ...options } = given
  return { options: { ...defaultOptions, ...options, transfer: readTlsRequired(fields) }, idempotencyKey }
}

/** RFC 8689 5: any value but `No` is ignored. */
function readTlsRequired(fields: readonly HeaderField[]): TransferOptions | null {
  const [field, another] = fieldsNamed(fields, tlsRequiredField)
  return field && !another && isTlsNotRequired(field.value) ? { requireTls: false } : null
}

export const isTlsRequiredField = (name: string): boolean => name.toLowerCase() === tlsRequiredField

export const isTlsNotRequired = (value: string): boolean => /^\s*no\s*$/i.test(value)

function readTags(value: string): Given | Fault {
  const tags = value.split(',').map((part) => {
    const equals = part.indexOf('=')
    const name = (equals < 0 ? part : part.slice(0, equals)).trim()
    return { name, value: equals < 0 ? '' : part.slice(equals + 1).trim() }
  })
  const fault = tagsFault(tags)
  return fault === null ? { tags } : { fault: `X-Tags: ${fault} Write name=value, name=value.` }
}

function readMetadata(value: string): Given | Fault {
  let parsed: unknown
  try {
    parsed = JSON.parse(value)
  } catch {
    return { fault: 'X-Metadata is not valid JSON.' }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { fault: 'X-Metadata must be a JSON object.' }
  }
  const entries: [string, string][] = []
  for (const [key, text] of Object.entries(parsed)) {
    if (typeof text !== 'string') return { fault: `X-Metadata: the value of ${JSON.stringify(key)} is not a string.` }
    entries.push([key, text])
  }
  const metadata = Object.fromEntries(entries)
  const fault = metadataFault(metadata)
  return fault === null ? { metadata } : { fault: `X-Metadata: ${fault}` }
}

/** `true` or a topic; `false` means the same as no field. */
function readUnsubscribe(value: string): Given | Fault {
  if (/^(?:true|false)$/i.test(value)) return { unsubscribeTopic: value.toLowerCase() === 'true' ? '' : null }
  const fault = topicFault(value)
  return fault === null ? { unsubscribeTopic: value } : { fault: `X-Unsubscribe: ${fault}` }
}

/** What the field names is on; everything else is off. */
function readTracking(value: string): Given | Fault {
  const words = value
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  if (words.length === 1 && (words[0] === 'true' || words[0] === 'false'))
    return { tracking: { opens: words[0] === 'true', clicks: words[0] === 'true' } }
  if (!words.every((word) => word === 'opens' || word === 'clicks' || word === 'anonymous')) {
    return {
      fault: 'X-Tracking: Write true or false, or what to track: opens, clicks; and anonymous to store nothing about the reader.',
    }
  }
  const isAnonymousOnly = words.every((word) => word === 'anonymous')
  const shown = isAnonymousOnly ? {} : { opens: words.includes('opens'), clicks: words.includes('clicks') }
  return { tracking: { ...shown, anonymous: words.includes('anonymous') } }
}
