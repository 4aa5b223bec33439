import { decodeHeaderText } from '../smtp/encoded-word.ts'
import { fieldsNamed, type HeaderField } from './header-block.ts'
import { expiresInFault, idempotencyKeyFault, metadataFault, parseScheduledAt, tagsFault, topicFault } from './send-limits.ts'
import type { Tag } from './submission.ts'
import type { TrackingWish } from './tracking-options.ts'

/** What a submitter over SMTP tells us by header fields. */
export interface OptionFields {
  tags: Tag[]
  metadata: Record<string, string>
  idempotencyKey: string | null
  /** Epoch, ms; null: at once. */
  scheduledAt: number | null
  /** Seconds. */
  expiresIn: number | null
  /** What its readers can unsubscribe from: '' where it has no topic, null where they cannot. */
  unsubscribeTopic: string | null
  tracking: TrackingWish
}

/** Lower case. These fields never leave. */
export const optionFieldNames = ['x-tags', 'x-metadata', 'idempotency-key', 'x-scheduled-at', 'x-expires-in', 'x-unsubscribe', 'x-tracking']

type Fault = { fault: string }

function tagsOf(value: string): Tag[] | Fault {
  const tags = value.split(',').map((part) => {
    const equals = part.indexOf('=')
    const name = (equals < 0 ? part : part.slice(0, equals)).trim()
    return { name, value: equals < 0 ? '' : part.slice(equals + 1).trim() }
  })
  const fault = tagsFault(tags)
  return fault === null ? tags : { fault: `X-Tags: ${fault} Write name=value, name=value.` }
}

function metadataOf(value: string): { metadata: Record<string, string> } | Fault {
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

/** `true`, or the topic; `false` is the same as no field. */
function unsubscribeTopicOf(value: string): string | null | Fault {
  if (/^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true' ? '' : null
  const fault = topicFault(value)
  return fault === null ? value : { fault: `X-Unsubscribe: ${fault}` }
}

/** What is named is on, and what is not is off. */
function trackingOf(value: string): TrackingWish | Fault {
  const words = value
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  if (words.length === 1 && (words[0] === 'true' || words[0] === 'false'))
    return { opens: words[0] === 'true', clicks: words[0] === 'true' }
  if (!words.every((word) => word === 'opens' || word === 'clicks' || word === 'anonymous')) {
    return {
      fault: 'X-Tracking: Write true or false, or what is to be tracked: opens, clicks; and anonymous to keep nothing of the reader.',
    }
  }
  const isAnonymousOnly = words.every((word) => word === 'anonymous')
  return {
    ...(isAnonymousOnly ? {} : { opens: words.includes('opens'), clicks: words.includes('clicks') }),
    anonymous: words.includes('anonymous'),
  }
}

/** Reads the fields that are meant for us. Each may be there once; what is malformed is refused, never ignored. */
export function readOptionFields(fields: readonly HeaderField[], now: number): OptionFields | Fault {
  const options: OptionFields = {
    tags: [],
    metadata: {},
    idempotencyKey: null,
    scheduledAt: null,
    expiresIn: null,
    unsubscribeTopic: null,
    tracking: {},
  }
  for (const name of optionFieldNames) {
    const [field, second] = fieldsNamed(fields, name)
    if (!field) continue
    if (second) return { fault: `The header has more than one ${field.name} field.` }
    // Mail libraries encode what is not ASCII, or only long.
    const value = decodeHeaderText(field.value).trim()
    if (name === 'x-tags') {
      const tags = tagsOf(value)
      if ('fault' in tags) return tags
      options.tags = tags
    } else if (name === 'x-metadata') {
      const read = metadataOf(value)
      if ('fault' in read) return read
      options.metadata = read.metadata
    } else if (name === 'idempotency-key') {
      const fault = idempotencyKeyFault(value)
      if (fault !== null) return { fault: `Idempotency-Key: ${fault}` }
      options.idempotencyKey = value
    } else if (name === 'x-scheduled-at') {
      const at = parseScheduledAt(value, now)
      if (typeof at === 'object' && at !== null) return { fault: `X-Scheduled-At: ${at.fault}` }
      options.scheduledAt = at
    } else if (name === 'x-expires-in') {
      const seconds = /^\d{1,9}$/.test(value) ? Number(value) : NaN
      const fault = expiresInFault(seconds)
      if (fault !== null) return { fault: `X-Expires-In: ${fault}` }
      options.expiresIn = seconds
    } else if (name === 'x-tracking') {
      const tracking = trackingOf(value)
      if ('fault' in tracking) return tracking
      options.tracking = tracking
    } else {
      const topic = unsubscribeTopicOf(value)
      if (typeof topic === 'object' && topic !== null) return topic
      options.unsubscribeTopic = topic
    }
  }
  return options
}
