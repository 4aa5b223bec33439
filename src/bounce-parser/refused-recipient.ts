import { domainOf } from '../smtp/address.ts'
import { judgementOf, type BounceRules } from './bounce-rules.ts'
import { longestReason, type DeliveryAction, type ReportedRecipient } from './feedback.ts'
import type { Judgement, Refusal } from './refusal.ts'

/** A refusal that a report tells of. */
export interface ReportedRefusal extends Refusal {
  /** Of the recipient who was refused; null where nobody is named. */
  address: string | null
  /** True where it is no reply, but what the reporting system found out itself, which needs no proof. */
  isFinding: boolean
}

/** What a report says of whom was refused so. */
export function refusedRecipient(refusal: ReportedRefusal, action: DeliveryAction, rules: BounceRules): ReportedRecipient {
  const { address, enhancedStatus: status, code: smtpCode, text } = refusal
  const { category, hard, inWords } = judgeReported(refusal, rules)
  return { address, action, hard: hard && action === 'failed', status, category, inWords, smtpCode, reason: text.slice(0, longestReason) }
}

/**
 * What a refusal means that a report tells of. A report is second-hand, and not every refusal in it was of the address: it is
 * at RCPT that a server says whether there is one, and what it calls an unknown user after the data is often a filter's
 * word. So where the words alone say so, they are believed only if the report shows that they were said at RCPT, or if a
 * code about the address (RFC 3463 3.2) stands with them; of a domain, one about the route does too.
 */
function judgeReported(refusal: ReportedRefusal, rules: BounceRules): Judgement {
  const deciding = rules.deciding(refusal)
  const judgement = judgementOf(deciding, refusal)
  const shown = 'shown' in deciding ? deciding.shown : undefined
  if (!shown || !judgement.hard) return judgement
  if (shown === 'domain' && isOfOtherDomain(refusal)) return { ...judgement, hard: false }
  const isOfRoute = shown === 'domain' && (refusal.code === null || /^[245]\.4\./.test(refusal.enhancedStatus ?? ''))
  return { ...judgement, hard: refusal.isFinding || isOfRoute || isOfAddress(refusal) }
}

const isOfAddress = ({ phase, enhancedStatus }: Refusal): boolean =>
  phase === 'rcpt' || /^(?:[245]\.1\.(?:[1-9]|10)|5\.1\.0)$/.test(enhancedStatus ?? '')

const name = /[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g

/** True where a reply names domains, but not the recipient's: the sender's, or a client's. */
function isOfOtherDomain({ code, text, address }: ReportedRefusal): boolean {
  const own = domainOf(address ?? '').toLowerCase()
  const reply = (code === null ? text : text.slice(text.indexOf(String(code)) + 3)).toLowerCase()
  const names = (reply.match(name) ?? []).filter((found) => /[a-z]$/.test(found))
  return own !== '' && names.length > 0 && !names.some((each) => each === own || each.endsWith(`.${own}`) || own.endsWith(`.${each}`))
}
