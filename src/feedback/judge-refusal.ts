import { decidingRule, judgedBy } from '../bounce/classify-refusal.ts'
import type { Judgement, Refusal } from '../bounce/refusal.ts'

/**
 * What a refusal means that a report quotes. A report is second-hand, and not every refusal in it was of the address: it is
 * at RCPT that a server says whether there is one, and what it calls an unknown user after the data is often a filter's
 * word. So where the words alone say so, they are believed only if the report shows that they were said at RCPT, or if a
 * code about the address (RFC 3463 3.2) stands with them. A domain that a reply calls unknown may be the sender's: there a
 * code about the route proves it too, and what is no reply is what the reporting system found out itself.
 */
export function judgeRefusal(refusal: Refusal): Judgement {
  const rule = decidingRule(refusal)
  const judgement = judgedBy(rule, refusal)
  const shown = 'shown' in rule ? rule.shown : undefined
  if (!judgement.hard || !shown || isOfAddress(refusal)) return judgement
  return { ...judgement, hard: shown === 'domain' && isOfDomain(refusal) }
}

const isOfAddress = ({ phase, enhancedCode }: Refusal): boolean =>
  phase === 'rcpt' || /^(?:[245]\.1\.(?:[1-9]|10)|5\.1\.0)$/.test(enhancedCode ?? '')

const isOfDomain = ({ code, enhancedCode }: Refusal): boolean => code === null || /^[245]\.4\./.test(enhancedCode ?? '')
