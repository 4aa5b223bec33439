import { fieldsIn } from './fields.ts'
import type { HeaderField } from './returned-message.ts'

/** The fields of one block by name (lower case). A repeated field has all its values in order. */
export type StatusFields = Map<string, string[]>

/** Our own, in what we make of a service's report: the address may be good, whatever the reply. */
export const softField = 'x-sterna-soft'

const recipientFields = ['final-recipient', 'original-recipient', 'x-actual-recipient']
const outcomeFields = ['action', 'status', 'diagnostic-code']

/** Values per field. More are an attack. */
const maxValues = 16

/** Fields of a message rather than a status. */
const headerField = '(?:received|return-path|message-id|dkim-signature):'
/** Where a status ends: a MIME delimiter, or the header of the original. */
const behindStatus = new RegExp(`\\n(?:--\\S|${headerField})[^]*`, 'i')

/** In a continued reply, a word before a colon is no field. Status fields have hyphens, with two exceptions. */
const begins = (name: string, before: string | undefined): boolean => before !== 'diagnostic-code' || /-|^(?:action|status)$/.test(name)

const has = (fields: readonly HeaderField[], names: readonly string[]): boolean => fields.some(({ name }) => names.includes(name))

function add(fields: StatusFields, more: readonly HeaderField[]): void {
  for (const { name, value } of more) {
    const known = fields.get(name)
    if (!known) fields.set(name, [value])
    else if (known.length < maxValues && !known.includes(value)) known.push(value)
  }
}

/** Splits a block into recipients where the next one begins without an empty line. */
function recipientsIn(block: HeaderField[]): StatusFields[] {
  const recipients: StatusFields[] = []
  let fields: StatusFields = new Map()
  for (const each of block) {
    if (recipientFields.includes(each.name) && fields.has(each.name)) {
      recipients.push(fields)
      fields = new Map()
    }
    add(fields, [each])
  }
  return [...recipients, fields]
}

const looksLike = /^(?:final|original)-recipient[ \t]{0,8}:/im

/** Per-message fields that apply to recipients without their own. */
const sharedFields = ['reporting-mta', 'action', 'status', 'disposition']

/**
 * The fields of each recipient in a delivery status (RFC 3464 2.1), or the per-message fields alone if it names nobody. Empty lines may be
 * missing or misplaced, and a recipient's fields may precede its name.
 */
export function parseStatusFields(content: string): StatusFields[] {
  const message: StatusFields = new Map()
  const recipients: StatusFields[] = []
  const text = content.trimStart().replace(behindStatus, '')
  for (const block of text.split(/\n(?:[ \t]*\n)+/).map((each) => fieldsIn(each, begins))) {
    const last = recipients.at(-1)
    if (has(block, recipientFields)) recipients.push(...recipientsIn(block))
    else add(last && has(block, outcomeFields) ? last : message, block)
  }
  const shared = sharedFields.flatMap((name) => message.get(name)?.map((value) => ({ name, value })) ?? [])
  for (const fields of recipients)
    add(
      fields,
      shared.filter(({ name }) => !fields.has(name)),
    )
  return recipients.length > 0 ? recipients : [message]
}

const alsoHas = /^(?:action|status|diagnostic-code)[ \t]{0,8}:/im
const firstField =
  /^(?:original-envelope-id|reporting-mta|dsn-gateway|received-from-mta|arrival-date|(?:final|original)-recipient|action|status)[ \t]{0,8}:/im

const header = new RegExp(`^${headerField}`, 'im')
/** The header of a bounce within the bounce. */
const headerOfReport = /^(?:from:.{0,200}mailer-daemon|return-path:\s*<>|content-type:\s*multipart\/report)/im

/**
 * A delivery status inside a text that is not labelled as one; null if there is none. Text within the original was
 * written by its sender and does not count.
 */
export function statusWithin(text: string): string | null {
  if (!looksLike.test(text) || !alsoHas.test(text)) return null
  const start = text.search(firstField)
  const ahead = text.slice(0, start)
  return header.test(ahead) && !headerOfReport.test(ahead) ? null : text.slice(start)
}
