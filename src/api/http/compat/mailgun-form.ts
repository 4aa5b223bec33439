import { JsonShape } from '../../../platform/json-shape.ts'
import { prefixed, valuesOf, type Form } from './form-fields.ts'
import { faultAt, type CompatFault } from './native-email.ts'

/** Other words of Mailgun than `o:…`, `h:…` and `v:…`. */
const known = new Set('from to cc bcc subject text html template t:variables t:version t:text recipient-variables'.split(' '))
const knownPrefix = /^(?:[ohv]):./
/** PHP writes the elements of a list so. */
const listElement = /^(to|cc|bcc|o:tag|attachment|inline)\[\d*\]$/

/** The form with `attachment[0]` as `attachment`, and so on. */
export const withPlainNames = ({ fields, files }: Form): Form => ({
  fields: fields.map(([name, value]) => [plainName(name), value]),
  files: files.map((file) => ({ ...file, field: plainName(file.field) })),
})

const plainName = (name: string): string => listElement.exec(name)?.[1] ?? name

/** Adds a fault for each name that this server has no meaning for. */
export function checkNames({ fields, files }: Form, faults: CompatFault[]): void {
  for (const [name] of fields) {
    if (!known.has(name) && !knownPrefix.test(name)) faults.push({ ...unknown(name), error: 'unsupported_field' })
  }
  for (const { field } of files) {
    if (field !== 'attachment' && field !== 'inline')
      faults.push(faultAt(field, 'unknown_field', `The parameter ${field} may not be a file.`))
  }
}

const unknown = (name: string): CompatFault =>
  name === 'attachment' || name === 'inline'
    ? faultAt(name, 'invalid_type', `The parameter ${name} must be a file: give it a file name.`)
    : faultAt(name, 'unknown_field', `The parameter ${name} is not supported.`)

/** The value of a field that may be there once. */
export function singleValue(form: Form, name: string, faults: CompatFault[]): string | undefined {
  const [value, second] = valuesOf(form, name)
  if (second !== undefined) faults.push(faultAt(name, 'invalid_value', `The parameter ${name} is given twice.`))
  return value
}

/** In lower case; it is no header field, but data for templates and webhooks. */
export const variablesHeader = 'x-mailgun-variables'

/** What `h:X-Mailgun-Variables` holds. */
export function customData(form: Form, faults: CompatFault[]): Record<string, unknown> {
  const name = prefixed(form, 'h:').find(([header]) => header.toLowerCase() === variablesHeader)?.[0]
  return name === undefined ? {} : (jsonObject(form, `h:${name}`, faults) ?? {})
}

/** characters; no email could use so much */
const maxJsonLength = 2 * 1024 * 1024

/** A field that holds a JSON object. Its size and shape are looked at first, as those of a request in JSON are. */
export function jsonObject(form: Form, name: string, faults: CompatFault[]): Record<string, unknown> | undefined {
  const text = singleValue(form, name, faults)
  if (text === undefined || text === '') return undefined
  if (isTooMuch(text)) {
    faults.push(faultAt(name, 'too_long', `The parameter ${name} is too long, or has too many values.`))
    return undefined
  }
  const value = parsed(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  faults.push(faultAt(name, 'invalid_type', `The parameter ${name} must be a JSON object.`))
  return undefined
}

/** A value of `v:…` for a template: an object or a list where it is JSON of one, else the text. */
export function templateValue(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || isTooMuch(text)) return text
  const value = parsed(text)
  return value === undefined ? text : value
}

const isTooMuch = (text: string): boolean => text.length > maxJsonLength || new JsonShape().add(Buffer.from(text)) !== null

/** Undefined where it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
