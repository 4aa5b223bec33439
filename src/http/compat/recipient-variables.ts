import { faultAt, type CompatFault, type NativeEmail, type NativeMailbox } from './native-email.ts'
import { areTooMuch, mostKeys, substitute, type ReplacementBudget } from './substitute.ts'

const field = 'recipient-variables'
const reference = /%recipient\.([^%\s]{1,100})%/g
/** What Mailgun would fill in and this server does not. */
const foreign = /%(?:recipient|recipient_fname|recipient_lname|unique|(?:tag_|mailing_list_)?unsubscribe_(?:url|email))%/

/**
 * The copy of an email that one recipient of a batch gets: `%recipient.x%` is replaced by that recipient's variable x,
 * `%recipient_email%` and `%recipient_name%` by the address, in the subject, the bodies and the variables of the template.
 * Undefined where it cannot be made; the reason is added to `faults`.
 */
export function personalized(
  email: NativeEmail,
  { recipient, variables, budget }: { recipient: NativeMailbox; variables: unknown; budget: ReplacementBudget },
  faults: CompatFault[],
): NativeEmail | undefined {
  const own = typeof variables === 'object' && variables !== null ? (variables as Record<string, unknown>) : {}
  const values = new Map([
    ['%recipient_email%', recipient.email],
    ['%recipient_name%', recipient.name ?? ''],
    ...Object.entries(own).map(([name, value]): [string, string] => [`%recipient.${name}%`, textOf(value)]),
  ])
  if (areTooMuch([...values.keys()])) {
    faults.push(tooMany(recipient.email))
    return undefined
  }
  let isComplete = true
  const replaced = (text: string): string => {
    const unknown = firstUnknown(text, values)
    const result = unknown === undefined ? substitute(text, values, budget) : null
    if (result !== null) return result
    if (isComplete) faults.push(unknown === undefined ? tooLong() : missing(unknown, recipient.email))
    isComplete = false
    return ''
  }
  const { subject, html, text, template } = email
  const copy: NativeEmail = {
    ...email,
    to: [recipient],
    ...(subject === undefined ? {} : { subject: replaced(subject) }),
    ...(html === undefined ? {} : { html: replaced(html) }),
    ...(text === undefined ? {} : { text: replaced(text) }),
    ...(template ? { template: { ...template, variables: mapTexts(template.variables, replaced) as Record<string, unknown> } } : {}),
  }
  return isComplete ? copy : undefined
}

/** Adds a fault where the email relies on text of its service that nobody fills in here. */
export function checkPlaceholders(email: NativeEmail, faults: CompatFault[]): void {
  for (const name of ['subject', 'html', 'text'] as const) {
    const found = foreign.exec(email[name] ?? '')?.[0]
    if (found !== undefined) {
      faults.push({
        ...faultAt(name, 'unsupported_field', `The parameter ${name} holds ${found}, which is not filled in here.`),
        error: 'unsupported_field',
      })
    }
  }
}

function firstUnknown(text: string, values: ReadonlyMap<string, string>): string | undefined {
  for (const [whole] of text.matchAll(reference)) if (!values.has(whole)) return whole
  return undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change)]))
}

const tooLong = (): CompatFault => faultAt(field, 'too_long', `The email is too long with its ${field}.`)
const tooMany = (address: string): CompatFault =>
  faultAt(
    field,
    'too_many',
    `The parameter ${field} has more than ${mostKeys - 2} variables for ${address}, or one whose name is too long.`,
  )
const missing = (name: string, address: string): CompatFault =>
  faultAt(field, 'missing', `The parameter ${field} has no ${name} for ${address}.`)
