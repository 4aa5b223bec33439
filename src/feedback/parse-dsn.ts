import type { Refusal } from '../bounce/refusal.ts'
import { isGeneric, parseDiagnostic, statusCodeOf } from './diagnostic.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { ReportAction, ReportedRecipient } from './feedback-report.ts'
import { judgeRefusal } from './judge-refusal.ts'
import { reportedAddress } from './report-address.ts'
import { reportedPhase } from './reported-phase.ts'
import { textOf } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'
import { parseStatusFields, statusWithin } from './status-fields.ts'
import type { StatusFields } from './status-fields.ts'

/** Characters of a reason. */
const longestReason = 1000

/**
 * What a delivery status (RFC 3464, RFC 6533) says of its recipients, each of them once; null where the message has none.
 * A status is looked for in every part, since systems on the way relabel it.
 */
export function parseDsn(message: ReturnedMessage): ReportedRecipient[] | null {
  const labelled = message.parts.filter(({ contentType }) => /^(?:message|text)\/(?:global-|x-)?delivery-status$/.test(contentType))
  const contents = labelled.length > 0 ? labelled.map(({ content }) => content) : statusesWithin(message)
  if (contents.length === 0) return null
  const text = textOf(message)
  return once(contents.flatMap((content) => recipientsOf(content, text)))
}

function statusesWithin({ parts }: ReturnedMessage): string[] {
  const readable = parts.filter(({ contentType }) => contentType === 'text/plain' || contentType.startsWith('application/'))
  return readable.map(({ content }) => statusWithin(content)).filter((content) => content !== null)
}

/** The recipients of one status. */
function recipientsOf(content: string, text: string): ReportedRecipient[] {
  const { message, recipients } = parseStatusFields(content)
  if (recipients.length > 0) return recipients.map((fields) => recipientOf(fields, message, text))
  // Nobody is named, yet what the report is about may be known from elsewhere.
  return message.has('action') || message.has('status') ? [recipientOf(message, message, text)] : []
}

/** One entry for each address: a final failure is what counts, however the same address is told of elsewhere. */
function once(recipients: ReportedRecipient[]): ReportedRecipient[] {
  const byAddress = new Map<string, ReportedRecipient>()
  for (const recipient of recipients) {
    const key = recipient.address?.toLowerCase() ?? ''
    const known = byAddress.get(key)
    if (!known || weightOf(recipient) > weightOf(known)) byAddress.set(key, recipient)
  }
  return [...byAddress.values()]
}

const weights: Record<ReportAction, number> = { delivered: 0, relayed: 0, expanded: 0, delayed: 1, failed: 2 }
const weightOf = ({ action, hard }: ReportedRecipient): number => weights[action] * 2 + Number(hard)

const first = (fields: StatusFields, name: string): string | undefined => fields.get(name)?.[0]

function recipientOf(fields: StatusFields, message: StatusFields, text: string): ReportedRecipient {
  const status = statusCodeOf(first(fields, 'status') ?? first(message, 'status') ?? '')
  const diagnostic = diagnosticOf(fields)
  const action = actionOf(first(fields, 'action') ?? first(message, 'action'), status, diagnostic)
  const enhancedCode = decidingCode(status, diagnostic)
  const refusal: Refusal = {
    code: diagnostic.code,
    enhancedCode,
    text: diagnostic.text,
    remoteHost: hostOf(first(fields, 'remote-mta') ?? first(message, 'reporting-mta') ?? ''),
    phase: reportedPhase(text, diagnostic.text),
  }
  const { category, hard } = judgeRefusal(refusal)
  return {
    address: addressOf(fields),
    action,
    hard: hard && action === 'failed',
    status: status ?? enhancedCode,
    category,
    smtpCode: diagnostic.code,
    reason: (diagnostic.text || first(fields, 'status') || '').slice(0, longestReason),
  }
}

/** All of the fields that quote a reply: some systems have one for the reply and one for themselves. */
function diagnosticOf(fields: StatusFields): Diagnostic {
  const all = (fields.get('diagnostic-code') ?? []).map(parseDiagnostic)
  const quoted = all.find(({ code }) => code !== null) ?? all.find(({ enhancedCode }) => enhancedCode !== null)
  const text = all.map((each) => each.text).join('; ')
  return { code: quoted?.code ?? null, enhancedCode: quoted?.enhancedCode ?? null, text }
}

/** What the remote system said itself, unless the status of the report tells more. */
const decidingCode = (status: string | null, { enhancedCode }: Diagnostic): string | null =>
  isGeneric(enhancedCode) ? (status ?? enhancedCode) : enhancedCode

const actions: [RegExp, ReportAction][] = [
  [/^(?:fail|undeliver|error|bounce)/i, 'failed'],
  [/^(?:delay|defer)/i, 'delayed'],
  [/^deliver/i, 'delivered'],
  [/^relay/i, 'relayed'],
  [/^expand/i, 'expanded'],
]

/** Where the action is missing or no such word, or speaks of success though all else speaks of failure, the codes decide. */
function actionOf(action: string | undefined, status: string | null, { code, enhancedCode }: Diagnostic): ReportAction {
  const written = actions.find(([pattern]) => pattern.test((action ?? '').trim()))?.[1]
  const classes = [status?.[0], enhancedCode?.[0], code === null ? undefined : String(code)[0]].filter((digit) => digit !== undefined)
  const isSuccess = written === 'delivered' || written === 'relayed' || written === 'expanded'
  if (written && !(isSuccess && classes.length > 1 && classes.every((digit) => digit === '5'))) return written
  if (classes.includes('5') || classes.length === 0) return 'failed'
  return classes.includes('4') ? 'delayed' : 'delivered'
}

/** The final recipient as written; one without a domain only where nothing better is there. */
function addressOf(fields: StatusFields): string | null {
  const names = ['final-recipient', 'original-recipient', 'x-actual-recipient']
  const addresses = names.map((name) => reportedAddress(first(fields, name) ?? '')).filter((address) => address !== null)
  return addresses.find((address) => address.includes('@')) ?? addresses[0] ?? null
}

/** The name in a field such as Remote-MTA: `dns; mx.example.com (192.0.2.1)`. */
function hostOf(value: string): string | null {
  const [host = ''] = value.slice(value.indexOf(';') + 1).trim().split(/[\s(]/, 1)
  return /^[\w.-]{1,255}$/.test(host) ? host.toLowerCase().replace(/\.$/, '') : null
}
