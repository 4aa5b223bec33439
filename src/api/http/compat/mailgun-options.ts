import { isoTime } from '../../../platform/iso-time.ts'
import { labelTag, sendLimits, type Tag } from '../../../mail/message/send-limits.ts'
import { prefixed, valuesOf, type Form } from './form-fields.ts'
import { faultAt, type CompatFault, type NativeEmail } from './native-email.ts'
import { parseDeliveryTime } from './parse-delivery-time.ts'

/** What the fields `o:…` and `v:…` and `h:X-Mailgun-Variables` ask for. */
export interface MailgunOptions {
  tags: Tag[]
  metadata: Record<string, string>
  /** ISO 8601 */
  scheduledAt: string | undefined
  tracking: NativeEmail['tracking']
  /** `o:testmode`: the email goes through everything, and nowhere. */
  isTest: boolean
}

const isYes = (text: string): boolean => /^(?:yes|true|htmlonly)$/i.test(text)
const isNo = (text: string): boolean => /^(?:no|false|)$/i.test(text)

/** Options that may only say what happens anyway: the value that they may have, and why not the other. */
const fixed: Record<string, { test: (text: string) => boolean; message: string }> = {
  dkim: { test: isYes, message: 'must be yes: everything is signed' },
  'require-tls': { test: isNo, message: 'is not supported: TLS is a setting of the sending domain' },
  'skip-verification': { test: isNo, message: 'is not supported: TLS is a setting of the sending domain' },
  'tracking-pixel-location-top': { test: isNo, message: 'is not supported: the pixel stands at the end' },
}

const repeatable = new Set(['tag'])

/**
 * Reads the fields `o:…` and `v:…`; `custom` is what `h:X-Mailgun-Variables` holds. What they ask for and cannot have is added to
 * `faults`.
 */
export function mailgunOptions(form: Form, custom: Record<string, unknown>, faults: CompatFault[]): MailgunOptions {
  const options: MailgunOptions = { tags: [], metadata: {}, scheduledAt: undefined, tracking: undefined, isTest: false }
  const seen = new Set<string>()
  for (const [name, value] of prefixed(form, 'o:')) {
    if (seen.has(name) && !repeatable.has(name))
      faults.push(faultAt(`o:${name}`, 'invalid_value', `The parameter o:${name} is given twice.`))
    seen.add(name)
    const fault = readOption(name, value, options)
    if (fault !== null)
      faults.push({ ...faultAt(`o:${name}`, 'unsupported_field', `The parameter o:${name} ${fault}.`), error: 'unsupported_field' })
  }
  options.metadata = metadataOf(form, custom, faults)
  return options
}

/** Mailgun takes a tag twice as once. */
function addLabel(tags: Tag[], label: string): void {
  const added = labelTag(label)
  if (!tags.some(({ name, value }) => name === added.name && value === added.value)) tags.push(added)
}

/** Why this option is refused; null where it was noted. */
function readOption(name: string, value: string, options: MailgunOptions): string | null {
  switch (name) {
    case 'tag':
      addLabel(options.tags, value)
      return null
    case 'deliverytime': {
      const at = parseDeliveryTime(value)
      if (at === null) return 'must be a time such as Fri, 21 Nov 2026 08:00:00 +0000'
      options.scheduledAt = isoTime(at)
      return null
    }
    case 'testmode':
      options.isTest = isYes(value)
      return isYes(value) || isNo(value) ? null : 'must be yes or no'
    case 'tracking':
    case 'tracking-opens':
    case 'tracking-clicks':
      if (!isYes(value) && !isNo(value)) return 'must be yes or no'
      options.tracking = trackingWith(options.tracking, name, isYes(value))
      return null
  }
  const rule = Object.hasOwn(fixed, name) ? fixed[name] : undefined
  if (!rule) return 'is not supported'
  return rule.test(value) ? null : rule.message
}

/** The general switch stands behind those of one kind, whichever comes first. */
function trackingWith(given: NativeEmail['tracking'], name: string, on: boolean): NonNullable<NativeEmail['tracking']> {
  if (name === 'tracking-opens') return { ...given, opens: on }
  return name === 'tracking-clicks' ? { ...given, clicks: on } : { opens: on, clicks: on, ...given }
}

/** With a template these are its variables too, so what is more or longer than metadata may be is left to the template alone. */
function metadataOf(form: Form, custom: Record<string, unknown>, faults: CompatFault[]): Record<string, string> {
  const given = prefixed(form, 'v:')
  const own = Object.fromEntries(given)
  if (Object.keys(own).length < given.length) faults.push(faultAt('v:', 'invalid_value', 'A parameter v: is given twice.'))
  const texts = Object.entries(custom).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])
  const metadata: Record<string, string> = { ...Object.fromEntries(texts), ...own }
  if (valuesOf(form, 'template').join('') === '') return metadata
  const fitting = Object.entries(metadata).filter(
    ([name, value]) => name.length <= sendLimits.metadataKey && value.length <= sendLimits.metadataValue,
  )
  return Object.fromEntries(fitting.slice(0, sendLimits.metadataKeys))
}
