import { decidingRule, classifyRefusal } from '../bounce/classify-refusal.ts'
import type { Judgement, Refusal } from '../bounce/refusal.ts'

/** Rules of config/bounce-rules.json that know an unknown user by words. */
const byWords = /^(?:no such address|directory block)\b/

/**
 * What a refusal means that a report quotes. A report is second-hand, and not every refusal in it was of the address: it is
 * at RCPT that a server says whether there is one, and what it calls an unknown user after the data is often a filter's
 * word. So where the words alone say so, they are believed only if the report shows that they were said at RCPT, or if a
 * code about the address (RFC 3463 3.2) stands with them.
 */
export function judgeRefusal(refusal: Refusal): Judgement {
  const judgement = classifyRefusal(refusal)
  const isProven = refusal.phase === 'rcpt' || /^[245]\.1\.[1-9]/.test(refusal.enhancedCode ?? '')
  if (!judgement.hard || isProven) return judgement
  const rule = decidingRule(refusal)
  return 'name' in rule && byWords.test(rule.name) && !('hosts' in rule) ? { ...judgement, hard: false } : judgement
}
