import { domainOf } from '../../platform/smtp/address.ts'
import { judgementOf, type BounceRules } from './bounce-rules.ts'
import { maxReasonLength, type DeliveryAction, type ReportedRecipient } from './feedback.ts'
import type { Judgement, Refusal } from './refusal.ts'

/** A refusal quoted in a bounce. */
export interface ReportedRefusal extends Refusal {
  /** The refused recipient; null if unnamed. */
  address: string | null
  /** True for the reporting system's own finding, which needs no proof. */
  isFinding: boolean
}

/** What a bounce says about a refused recipient. */
export function refusedRecipient(refusal: ReportedRefusal, action: DeliveryAction, rules: BounceRules): ReportedRecipient {
  const { address, enhancedStatus: status, code: smtpCode, text } = refusal
  const { category, hard, inWords } = judgeReported(refusal, rules)
  return { address, action, hard: hard && action === 'failed', status, category, inWords, smtpCode, reason: text.slice(0, maxReasonLength) }
}

/**
 * Judges a refusal quoted in a bounce. This is second-hand, and not every quoted refusal is about the address: servers reject unknown users
 * at RCPT, while an "unknown user" after the data is often a filter's wording. So words alone count only if the bounce shows that they were
 * said at RCPT, or if a code about the address (RFC 3463 3.2) supports them. For a domain, a code about the route also does.
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

/** True if a reply names domains, but not the recipient's; rather the sender's, or a client's. */
function isOfOtherDomain({ code, text, address }: ReportedRefusal): boolean {
  const own = domainOf(address ?? '').toLowerCase()
  const reply = (code === null ? text : text.slice(text.indexOf(String(code)) + 3)).toLowerCase()
  const names = (reply.match(name) ?? []).filter((found) => /[a-z]$/.test(found))
  return own !== '' && names.length > 0 && !names.some((each) => each === own || each.endsWith(`.${own}`) || own.endsWith(`.${each}`))
}
