import { domainOf } from '../../platform/smtp/address.ts'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { isGeneric, parseDiagnostic, statusCodeOf, type Diagnostic } from './diagnostic.ts'
import { maxReasonLength, type DeliveryAction, type ReportedRecipient } from './feedback.ts'
import { refusedRecipient, type ReportedRefusal } from './refused-recipient.ts'
import { reportedAddress } from './reported-address.ts'
import type { BounceRules } from './bounce-rules.ts'
import type { PhaseText } from './reported-phase.ts'
import { softField, type StatusFields } from './status-fields.ts'

const first = (fields: StatusFields, name: string): string | undefined => fields.get(name)?.[0]

/** What one recipient's fields say (RFC 3464 2.3). `text`: the bounce's human-readable text. */
export function reportedRecipient(fields: StatusFields, text: PhaseText, rules: BounceRules): ReportedRecipient {
  const address = addressOf(fields)
  const status = statusCodeOf(first(fields, 'status') ?? '')
  const diagnostic = diagnosticOf(fields)
  const action = actionOf(first(fields, 'action'), status, diagnostic)
  const enhancedStatus = decidingCode(status, diagnostic)
  const refusal: ReportedRefusal = {
    code: diagnostic.code,
    enhancedStatus,
    text: diagnostic.text,
    remoteHost: hostOf(first(fields, 'remote-mta') ?? first(fields, 'reporting-mta') ?? '') ?? (address && domainOf(address).toLowerCase()),
    phase: text.of(diagnostic.text),
    address,
    isFinding: isOwnFinding(fields, diagnostic),
  }
  const refused = refusedRecipient(refusal, action, rules)
  // A transient failure (RFC 3463 2) that was given up has taken too long.
  const isExpired = refused.category === 'other' && action === 'failed' && isTransient(refusal)
  return {
    ...refused,
    hard: refused.hard && !fields.has(softField),
    originalAddress: reportedAddress(first(fields, 'original-recipient') ?? ''),
    status: status ?? enhancedStatus,
    category: isExpired ? 'expired' : refused.category,
    reason: refused.reason || (first(fields, 'status') ?? '').slice(0, maxReasonLength),
  }
}

const isTransient = ({ code, enhancedStatus }: ReportedRefusal): boolean =>
  code === null ? enhancedStatus?.startsWith('4') === true : code >= 400 && code < 500

/** Joins all fields that quote a reply. Some systems have one for the reply and one for their own words. */
function diagnosticOf(fields: StatusFields): Diagnostic {
  const named = fields.get('diagnostic-code') ?? fields.get('x-supplementary-info') ?? fields.get('localized-diagnostic')
  const all = (named ?? commentsOf(fields.get('status'))).map((said) => parseDiagnostic(decodeHeaderText(said)))
  const quoted = all.find(({ code }) => code !== null) ?? all.find(({ enhancedStatus }) => enhancedStatus !== null)
  const text = all.map((each) => each.text).join('; ')
  return { code: quoted?.code ?? null, enhancedStatus: quoted?.enhancedStatus ?? null, text }
}

/** Haraka puts the reply into the comment of the status: `5.1.2 (550 Tried all MXs b.example)`. */
const commentsOf = (statuses: string[] = []): string[] => statuses.flatMap((status) => /^[^(]*\((.+)\)/s.exec(status)?.[1] ?? [])

/** True if the text is no reply, but the reporting system's own finding: `X-Notes; User a not listed in Domino Directory`. */
function isOwnFinding(fields: StatusFields, { code }: Diagnostic): boolean {
  const said = fields.get('diagnostic-code') ?? []
  return code === null && said.length > 0 && said.every((value) => /^\s*(?:x-?[a-z0-9-]{1,40}|unknown)\s*;/i.test(value))
}

/** The remote system's code, unless the status says more. */
const decidingCode = (status: string | null, { enhancedStatus }: Diagnostic): string | null =>
  isGeneric(enhancedStatus) ? (status ?? enhancedStatus) : enhancedStatus

const actions: [RegExp, DeliveryAction][] = [
  [/^(?:fail|undeliver|error|bounce)/i, 'failed'],
  [/^(?:delay|defer)/i, 'delayed'],
  [/^deliver/i, 'delivered'],
  [/^relay/i, 'relayed'],
  [/^expand/i, 'expanded'],
]

/** If the action is missing or invalid, or claims success while everything else says failure, the codes decide. */
function actionOf(action: string | undefined, status: string | null, { code, enhancedStatus }: Diagnostic): DeliveryAction {
  const written = actions.find(([pattern]) => pattern.test((action ?? '').trim()))?.[1]
  const classes = [status?.[0], enhancedStatus?.[0], code === null ? undefined : String(code)[0]].filter((digit) => digit !== undefined)
  const isSuccess = written === 'delivered' || written === 'relayed' || written === 'expanded'
  if (written && !(isSuccess && classes.length > 1 && classes.every((digit) => digit === '5'))) return written
  if (classes.includes('5') || classes.length === 0) return 'failed'
  return classes.includes('4') ? 'delayed' : 'delivered'
}

/** The final recipient as written. One without a domain counts only if there is nothing better. */
function addressOf(fields: StatusFields): string | null {
  const names = ['final-recipient', 'original-recipient', 'x-actual-recipient']
  const addresses = names.map((name) => reportedAddress(first(fields, name) ?? '')).filter((address) => address !== null)
  return addresses.find((address) => address.includes('@')) ?? addresses[0] ?? null
}

/** The host in a field such as Remote-MTA: `dns; mx.example.com (192.0.2.1)`. */
function hostOf(value: string): string | null {
  const [host = ''] = value
    .slice(value.indexOf(';') + 1)
    .trim()
    .split(/[\s(]/, 1)
  return /^[\w.-]{1,255}$/.test(host) ? host.toLowerCase().replace(/\.$/, '') : null
}
