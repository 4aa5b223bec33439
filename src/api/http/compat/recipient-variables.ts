import type { Form } from './form-fields.ts'
import { faultAt, type CompatFault, type NativeMailbox } from './native-email.ts'
import { areTooMuch, maxKeys, substitute, type ReplacementBudget } from './substitute.ts'

const field = 'recipient-variables'
const reference = /%recipient\.([^%\s]{1,100})%/g
/** What Mailgun would fill in and this server does not. */
const foreign = /%(?:recipient|recipient_fname|recipient_lname|unique|(?:tag_|mailing_list_)?unsubscribe_(?:url|email))%/

/** Changes texts to what one recipient gets. */
interface RecipientFill {
  text(text: string): string
  /** The same for a variable of a template: where the text is one reference alone, it is the value with the type that it has. */
  value(text: string): unknown
}

const wholeReference = /^%recipient\.([^%\s]{1,100})%$/

/**
 * Replaces `%recipient.x%` by this recipient's variable x, `%recipient_email%` and `%recipient_name%` by the address. The first
 * reason for which a text cannot be made is added to `faults`.
 */
export function recipientFill(
  { recipient, variables, budget }: { recipient: NativeMailbox; variables: unknown; budget: ReplacementBudget },
  faults: CompatFault[],
): RecipientFill {
  const own = typeof variables === 'object' && variables !== null ? (variables as Record<string, unknown>) : {}
  const values = new Map([
    ['%recipient_email%', recipient.email],
    ['%recipient_name%', recipient.name ?? ''],
    ...Object.entries(own).map(([name, value]): [string, string] => [`%recipient.${name}%`, textOf(value)]),
  ])
  let isComplete = true
  const fail = (fault: CompatFault): string => {
    if (isComplete) faults.push(fault)
    isComplete = false
    return ''
  }
  if (areTooMuch([...values.keys()])) fail(tooMany(recipient.email))
  const filled = (text: string): string => {
    if (!isComplete || !text.includes('%recipient')) return text
    const unknown = firstUnknown(text, values)
    if (unknown !== undefined) return fail(missing(unknown, recipient.email))
    return substitute(text, values, budget) ?? fail(tooLong())
  }
  const filledValue = (text: string): unknown => {
    const name = wholeReference.exec(text)?.[1]
    const value = name !== undefined && Object.hasOwn(own, name) ? own[name] : undefined
    if (typeof value !== 'object' || value === null) return filled(text)
    return budget.take(textOf(value).length) ? value : fail(tooLong())
  }
  return { text: filled, value: filledValue }
}

/** Whom a copy goes to is decided before, and objects are filled value by value, so that these may hold any character. */
const filledElsewhere = new Set(['to', field, 't:variables'])

/** The form with the recipient's values in all its fields. */
export const filledForm = ({ fields, files }: Form, fill: RecipientFill['text']): Form => ({
  fields: fields.map(([name, value]) => [name, filledElsewhere.has(name) ? value : fill(value)]),
  files,
})

/** Adds a fault where the form relies on text of its service that nobody fills in here. */
export function checkPlaceholders({ fields }: Form, faults: CompatFault[]): void {
  for (const [name, value] of fields) {
    const found = foreign.exec(value)?.[0]
    if (found !== undefined) {
      faults.push({
        ...faultAt(name, 'unsupported_field', `The parameter ${name} holds ${found}, which is not filled in here.`),
        error: 'unsupported_field',
      })
    }
  }
}

/** The value with `change` applied to each text in it. */
export function mapTexts(value: unknown, change: RecipientFill['value']): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change)]))
}

function firstUnknown(text: string, values: ReadonlyMap<string, string>): string | undefined {
  for (const [whole] of text.matchAll(reference)) if (!values.has(whole)) return whole
  return undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

const tooLong = (): CompatFault => faultAt(field, 'too_long', `The email is too long with its ${field}.`)
const tooMany = (address: string): CompatFault =>
  faultAt(field, 'too_many', `The parameter ${field} has more than ${maxKeys - 2} variables for ${address}, or one whose name is too long.`)
const missing = (name: string, address: string): CompatFault =>
  faultAt(field, 'missing', `The parameter ${field} has no ${name} for ${address}.`)
