import { fieldsIn } from './fields.ts'
import type { HeaderField } from './returned-message.ts'

/** The fields of one block, by name in lower case; of a field that stands there twice all values in their order. */
export type StatusFields = Map<string, string[]>

const recipientFields = ['final-recipient', 'original-recipient', 'x-actual-recipient']
const outcomeFields = ['action', 'status', 'diagnostic-code']

/** Values of one field; more are the work of somebody who wants to keep us busy. */
const mostValues = 16

/** Of a message, not of a status. */
const headerField = '(?:received|return-path|message-id|dkim-signature):'
/** Where text stops to be a status: a delimiter of MIME, or the header of the message that came back. */
const behindStatus = new RegExp(`\\n(?:--\\S|${headerField})[^]*`, 'i')

/** In a reply that goes on, a word before a colon is no field; those of a status have hyphens, but for two. */
const begins = (name: string, before: string | undefined): boolean => before !== 'diagnostic-code' || /-|^(?:action|status)$/.test(name)

const has = (fields: readonly HeaderField[], names: readonly string[]): boolean => fields.some(({ name }) => names.includes(name))

function add(fields: StatusFields, more: readonly HeaderField[]): void {
  for (const { name, value } of more) {
    const known = fields.get(name)
    if (!known) fields.set(name, [value])
    else if (known.length < mostValues && !known.includes(value)) known.push(value)
  }
}

/** The recipients of a block, parted where the next one begins without an empty line. */
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

/** Fields of the message that hold for a recipient without one of their own. */
const sharedFields = ['reporting-mta', 'action', 'status', 'disposition']

/**
 * The fields of each recipient in a delivery status (RFC 3464 2.1), and those of the message alone where it names nobody. It may be cut
 * in any way: with empty lines within a block or none between two of them, and with fields of a recipient ahead of its name.
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
/** Of a report within the report. */
const headerOfReport = /^(?:from:.{0,200}mailer-daemon|return-path:\s*<>|content-type:\s*multipart\/report)/im

/**
 * The status that stands within a text which is not labelled as one; null where there is none. What stands in the message
 * that came back was written by its sender.
 */
export function statusWithin(text: string): string | null {
  if (!looksLike.test(text) || !alsoHas.test(text)) return null
  const start = text.search(firstField)
  const ahead = text.slice(0, start)
  return header.test(ahead) && !headerOfReport.test(ahead) ? null : text.slice(start)
}
